/** The event of a part: it has arrived, or the bank takes it back. */
import type { NewEvent } from '../events/index.ts'
import type { Payer } from '../parties/customers/index.ts'
import * as events from './events.ts'
import { type PartsPlan, reportOfPart } from './parts.ts'
import type { Deposit } from './store.ts'

/** A part that waits for a decision about a name has no event. */
export const partEvents = (
  deposit: Deposit,
  customer: Payer,
  plan: Pick<PartsPlan, 'told' | 'paid'> | undefined,
  now: Date,
): readonly NewEvent<'checkout.part.updated'>[] =>
  (plan?.told ?? []).map((part) => ({
    partnerId: deposit.partnerId,
    occurredAt: now,
    type: 'checkout.part.updated',
    data: events.part(deposit, customer, part, plan?.paid ?? 0n, reportOfPart(part)?.debtor),
  }))
