/**
 * The harness that the author of a connector supplies, so that the checks can open the connector and control its bank.
 */
import type { Clock, Currency } from '../../kernel/index.ts'
import type { Connector, Instruction } from '../../rails/index.ts'

/** `close` ends the connector's parts in this process, as the end of the service does. */
export type OpenConnector = { readonly connector: Connector; readonly close: () => Promise<void> }

/**
 * The bank's treatment of one instruction. `answer later`: it answers the other instructions of the call, and this one
 * only after it was submitted a few times.
 */
export type Behaviour = 'settle' | 'refuse' | 'reject' | 'return' | 'answer later'

/**
 * The fault of the next call, of any method. `lose half`: the bank accepts the first half of the instructions, and the
 * answer is lost. `error before` and `error after`: it answers with a failure, such as the HTTP status 500, before or
 * after it carried out the call. `hang`: no call is answered until `mend`, and the bank forgets it.
 */
export type Fault = 'lose call' | 'lose answer' | 'lose half' | 'error before' | 'error after' | 'hang'

/**
 * The disorder of notifications until `mend`: each one twice in a reading, the newest first, or, for the instructions
 * of the next call, not before `mend`.
 */
export type Disorder = 'repeat' | 'reverse' | 'delay'

export type Ability = Behaviour | Fault | Disorder

/** The bank's record of an instruction. Facts that it does not keep are absent. */
export type BankRecord = Pick<
  Instruction,
  'endToEndId' | 'amount' | 'currency' | 'creditorName' | 'creditorAccount'
> & {
  readonly creditorBic?: string | null
  readonly remittance?: string | null
  readonly timesReceived: number
  /** The number of payments with this end-to-end id, made or planned, under any reference: 0 if it refused it. */
  readonly timesExecuted: number
}

export type Harness = {
  /**
   * Opens the connector as a start of the service does. After `close`, nothing in memory survives. Two open connectors
   * share no memory, as in two processes of the service.
   */
  readonly open: () => Promise<OpenConnector>
  /** Two partners that the connector may pay for. */
  readonly partnerIds: readonly [string, string]
  /** The currencies that the bank pays. The checks use the first one, and amounts of each. */
  readonly currencies: readonly [Currency, ...Currency[]]
  /**
   * Names that have to arrive exactly. Default: names in several scripts. A bank with Latin letters only needs other
   * names.
   */
  readonly creditorNames?: readonly string[]
  /** The clock of the connector. Default: the clock of the machine. */
  readonly clock?: Clock
  /** How long the bank takes to send a notification. Default: five seconds. */
  readonly notificationMsMax?: number
  /** The abilities that this bank lacks. Checks that need one are not run, and the result says so. */
  readonly cannot?: readonly Ability[]
  /** Changes the instruction, so that the bank treats it as `behaviour` says. */
  readonly prepare: (instruction: Instruction, behaviour: Behaviour) => Instruction
  readonly breakNext: (fault: Fault) => void
  readonly disturb: (disorder: Disorder) => void
  /** Ends every fault and disorder. */
  readonly mend: () => void
  /** Lets the bank send the notifications of all that it has accepted. */
  readonly letTimePass: () => Promise<void>
  /** Undefined: the bank does not have the instruction. */
  readonly recordOf: (instruction: Instruction) => Promise<BankRecord | undefined>
  /** Calls without an answer whose connection is open at the bank. Absent: the connector opens no connections. */
  readonly openCalls?: () => number
}
