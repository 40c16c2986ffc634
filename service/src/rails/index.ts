/**
 * Rails: the port that every bank or chain connector implements, and the connectors.
 *
 * Tables: rails.sandbox_*, the sandbox bank's own books. Promise of every connector: `instruct` is idempotent by the
 * instruction's id, `find` tells whether an instruction arrived, and a notice is repeated until it is acknowledged.
 */
export type { Acknowledgement, IncomingDebtor, Instruction, Notice, Rail } from './port.ts'
export { createSandboxBank, type SandboxBank } from './sandbox/service.ts'
export { railsSettings } from './settings.ts'
