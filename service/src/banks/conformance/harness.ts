/**
 * The harness that the author of a connector implements, so that the checks can open the connector and control its
 * bank.
 */
import type { Clock, Currency } from '../../kernel/index.ts'
import type { Connector, Instruction } from '../../rails/index.ts'

/** `close` stops the connector, as the service does when it stops. */
export type OpenConnector = { readonly connector: Connector; readonly close: () => Promise<void> }

/**
 * How the bank treats one instruction. `answer later`: the bank acknowledges this instruction only after a few
 * submissions of it, and the others at once.
 */
export type Behaviour = 'settle' | 'refuse' | 'reject' | 'return' | 'answer later'

/**
 * A fault of the next call, of any method. `lose half`: the bank accepts the first half of the instructions, and the
 * answer is lost. `error before`, `error after`: it fails, for example with HTTP status 500, before or after it
 * executes the call. `hang`: the bank does not answer calls until `mend`, and discards them.
 */
export type Fault = 'lose call' | 'lose answer' | 'lose half' | 'error before' | 'error after' | 'hang'

/**
 * How the bank sends notifications until `mend`. `repeat`: each twice in one read. `reverse`: the newest first.
 * `delay`: those of the next call only after `mend`.
 */
export type Disorder = 'repeat' | 'reverse' | 'delay'

export type Ability = Behaviour | Fault | Disorder

/** The bank's record of an instruction. Fields that the bank does not store are absent. */
export type BankRecord = Pick<
  Instruction,
  'endToEndId' | 'amount' | 'currency' | 'creditorName' | 'creditorAccount'
> & {
  readonly creditorBic?: string | null
  readonly remittance?: string | null
  readonly timesReceived: number
  /** The number of executed or planned payments with this end-to-end id, under any reference: 0 if refused. */
  readonly timesExecuted: number
}

export type Harness = {
  /**
   * Opens the connector as the service does when it starts. Nothing in memory survives `close`. Two open connectors do
   * not share memory, as in two processes of the service.
   */
  readonly open: () => Promise<OpenConnector>
  /** Two partners that the connector may pay for. */
  readonly partnerIds: readonly [string, string]
  /** The currencies in which the bank pays. Most checks use the first; amounts are checked in each. */
  readonly currencies: readonly [Currency, ...Currency[]]
  /** Names that must arrive unchanged. Default: names in several scripts. Replace them if the bank only takes Latin letters. */
  readonly creditorNames?: readonly string[]
  /** The clock of the connector. Default: the clock of the machine. */
  readonly clock?: Clock
  /** The time within which the bank sends a notification. Default: five seconds. */
  readonly notificationMsMax?: number
  /** The abilities that this bank lacks. A check that needs one is reported as `not checked`. */
  readonly cannot?: readonly Ability[]
  /** Changes the instruction so that the bank shows `behaviour`. */
  readonly prepare: (instruction: Instruction, behaviour: Behaviour) => Instruction
  readonly breakNext: (fault: Fault) => void
  readonly disturb: (disorder: Disorder) => void
  /** Ends all faults and disorders. */
  readonly mend: () => void
  /** Lets the bank send the notifications of all accepted instructions. */
  readonly letTimePass: () => Promise<void>
  /** Reads the bank's record. Undefined: the bank does not have the instruction. */
  readonly recordOf: (instruction: Instruction) => Promise<BankRecord | undefined>
  /** Counts unanswered calls whose connection is still open. Absent: the connector does not open connections. */
  readonly openCalls?: () => number
}
