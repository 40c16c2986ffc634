/**
 * Rails: the port that every bank or chain connector implements, the rules that choose a payment's connector, and the
 * connectors.
 *
 * Tables: rails.sandbox_*, the records of the sandbox bank. Every connector guarantees: `instruct` is idempotent by the
 * instruction's id, `find` reports whether an instruction arrived, and the bank repeats a notification until it is
 * acknowledged. A new connector: docs/guides/connectors.md.
 */
export {
  type Acknowledgement,
  type BankNotification,
  callTimeoutMsMax,
  type CallOptions,
  type Connector,
  type ConnectorLimits,
  type Credit,
  type IncomingDebtor,
  type Instruction,
  type InstructionKey,
  type InstructionOutcome,
  type Money,
} from './port.ts'
export { type ChooseConnector, createChooseConnector } from './rules.ts'
export { createSandboxBank, type SandboxBank, sandboxConnectorId } from './sandbox/service.ts'
export { railsSettings } from './settings.ts'
