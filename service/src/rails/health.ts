/** How this process has last spoken with each bank. In memory: what the calls of the workers tell, without a look of its own. */
import type { Clock } from '../kernel/index.ts'

export type ConnectorState = {
  /** The time since which this process has watched. */
  readonly since: Date
  /** The last exchange that the bank answered, or whose file it took or gave. Null: none yet. */
  readonly answeredAt: Date | null
  readonly failedAt: Date | null
  /** Exchanges that failed one after the other since the last that did not. */
  readonly failures: number
  /** The reason of the last failure, in the words of the error. Null: it did not. */
  readonly problem: string | null
  /** The breaker holds payouts back. */
  readonly heldBack: boolean
  /** Payouts between their claim and the answer of the bank. */
  readonly inFlight: number
}

export type ConnectorHealth = {
  readonly answered: (connector: string) => void
  readonly failed: (connector: string, error: unknown) => void
  readonly breaker: (connector: string, state: { readonly inFlight: number; readonly isOpen: boolean }) => void
  readonly stateOf: (connector: string) => ConnectorState
}

const problemCharsMax = 300

export function createConnectorHealth({ clock }: { readonly clock: Clock }): ConnectorHealth {
  const since = clock.now()
  const fresh = { since, answeredAt: null, failedAt: null, failures: 0, problem: null, heldBack: false, inFlight: 0 }
  const states = new Map<string, ConnectorState>()
  const stateOf = (connector: string): ConnectorState => states.get(connector) ?? fresh
  const change = (connector: string, changed: Partial<ConnectorState>) =>
    void states.set(connector, { ...stateOf(connector), ...changed })
  return {
    answered: (connector) => change(connector, { answeredAt: clock.now(), failures: 0, problem: null }),
    failed: (connector, error) =>
      change(connector, {
        failedAt: clock.now(),
        failures: stateOf(connector).failures + 1,
        problem: (error instanceof Error ? error.message : String(error)).slice(0, problemCharsMax),
      }),
    breaker: (connector, { inFlight, isOpen }) => change(connector, { inFlight, heldBack: isOpen }),
    stateOf,
  }
}
