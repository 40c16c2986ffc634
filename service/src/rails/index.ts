/**
 * Rails: the port that every bank or chain connector implements, and the connectors.
 *
 * Tables: rails.sandbox_*, the records of the sandbox bank. Every connector guarantees: `instruct` is idempotent by the
 * instruction's id, `enquire` reports whether an instruction arrived, and the bank repeats a notification until it is
 * acknowledged.
 */
export type { Acknowledgement, BankNotification, IncomingDebtor, Instruction, Rail } from './port.ts'
export { createSandboxBank, type SandboxBank } from './sandbox/service.ts'
export { railsSettings } from './settings.ts'
