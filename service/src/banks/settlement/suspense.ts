/** Bank reports that match nothing known: their money goes to suspense, with a case. */
import { type CaseKind, operatorPartnerId } from '../../cases/index.ts'
import { isUuid } from '../../kernel/index.ts'
import type { BankNotification, Money } from '../../rails/index.ts'
import type { Source } from './deps.ts'

/** Answers `duplicate` if the notification has a case. */
export async function openCase(
  { deps: { cases, isPartner }, connector }: Source,
  notification: BankNotification,
  why: 'contradiction' | 'unknown',
): Promise<'case' | 'duplicate'> {
  const { partnerId, id: notificationId, subjectId: subject } = notification
  const opened = await cases.open({
    partnerId: isUuid(partnerId) && (await isPartner(partnerId)) ? partnerId : operatorPartnerId,
    kind: kindOf(notification, why),
    connector: connector.id,
    notificationId,
    subject,
    report: notification,
    // A report without an amount moved no money.
    booked: withoutNothing(cashOf(notification)),
  })
  return opened ? 'case' : 'duplicate'
}

function kindOf(notification: BankNotification, why: 'contradiction' | 'unknown'): CaseKind {
  if (notification.kind === 'debit.booked') return notification.why
  if (notification.kind === 'oddity') return notification.what
  return why === 'unknown' ? 'unknown_payment' : 'contradiction'
}

/** The effect of the report on the account at the bank: money that came in, or below zero, money that left. */
function cashOf(notification: BankNotification): Money | null {
  switch (notification.kind) {
    case 'payout.settled':
      return notification.money === undefined ? null : negative(notification.money)
    case 'credit.reversed':
    case 'debit.booked':
      return negative(notification.money)
    case 'payout.rejected':
    case 'payout.returned':
    case 'deposit.settled':
    case 'credit.booked':
      return notification.money ?? null
    case 'payout.payee_checked':
    case 'deposit.initiated':
    case 'deposit.submitted':
    case 'deposit.accepted':
    case 'deposit.failed':
    case 'recall.answered':
    case 'oddity':
      return null
  }
}

const withoutNothing = (money: Money | null): Money | null => (money?.amount === 0n ? null : money)

const negative = ({ currency, amount }: Money): Money => ({ currency, amount: -amount })
