// Holds the model against Kilo itself. go test ./targets/kilo/model -run TestReplay -update writes what it is asked.
import { decides } from '../../internal/asked/decide.mjs';
import { program } from './program.mjs';

decides(import.meta.dirname, program, ['session:kilo/', 'kilo.json', '.kilo/kilo.json']);
