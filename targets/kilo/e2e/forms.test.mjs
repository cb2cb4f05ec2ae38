// Asks Kilo what it does with each plain form of its permissions.
import { answers } from '../../internal/asked/session.mjs';
import { program } from './program.mjs';

answers(import.meta.dirname, program);
