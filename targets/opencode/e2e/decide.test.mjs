// Holds the model against opencode itself. go test ./targets/opencode/model -run TestReplay -update writes what it is
// asked.
import { decides } from '../../internal/asked/decide.mjs';
import { program } from './program.mjs';

decides(import.meta.dirname, program, ['session:opencode/', 'opencode.json']);
