/** The data of the event of monitors. */
import type { EventData } from '@partner-payments/wire'
import type { EventOutbox } from '../../../events/index.ts'
import { writeAmount } from '../../../kernel/index.ts'
import type { Tx } from '../../../postgres/index.ts'
import { type Crossing, rearmedAt } from './rules.ts'

type Crossed = Omit<EventData<'account.balance.crossed'>, 'eventType' | 'timestamp'>

function crossed({ monitor, kind, balance, reference, crossedAt }: Crossing): Crossed {
  const { id, accountId, currency, direction, measure, threshold, description } = monitor
  return {
    amount: writeAmount(balance, currency),
    currency,
    customFields: null,
    idempotencyKey: null,
    reference: id,
    websiteReference: description,
    accountId,
    crossedAt: crossedAt.toISOString(),
    direction,
    kind,
    measure,
    rearmAt: writeAmount(rearmedAt(monitor), currency),
    threshold: writeAmount(threshold, currency),
    transactionReference: reference,
  }
}

/** Appends one event for each crossing of a monitor that sends events. */
export function appendCrossed(
  eventOutbox: Pick<EventOutbox, 'appendMany'>,
  tx: Tx,
  crossings: readonly Crossing[],
  now: Date,
): void {
  eventOutbox.appendMany(
    tx,
    crossings
      .filter(({ monitor }) => monitor.sendsEvent)
      .map((crossing) => ({
        partnerId: crossing.partnerId,
        type: 'account.balance.crossed' as const,
        occurredAt: now,
        data: crossed(crossing),
      })),
  )
}
