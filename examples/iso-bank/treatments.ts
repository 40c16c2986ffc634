/** Chooses the treatment of a payment: by an order, else by its amount or the creditor's name, like the sandbox bank. */
import type { Match, Payment, Treatment } from './model.ts'
import type { Draft } from './draft.ts'

/** docs/sandbox.md has the same amounts and names. The last one refuses an instant payment only. */
const byName: Readonly<Record<string, Treatment>> = {
  rejected: { do: 'reject later', code: 'MS03' },
  'invalid account': { do: 'reject', code: 'AC01' },
  blocked: { do: 'reject', code: 'AC06' },
  'currency refused': { do: 'reject', code: 'AM03' },
  returned: { do: 'return', code: 'AC04' },
  unreachable: { do: 'delay', ms: 2000 },
  sent: { do: 'lose' },
  contradicted: { do: 'contradict', code: 'MS03' },
  silent: { do: 'lose', silent: true },
  'not instant': { do: 'reject', code: 'AB06', onlyInstant: true },
}
const nameOfAmount: Readonly<Record<string, string>> = {
  400101: 'rejected',
  400102: 'invalid account',
  400103: 'blocked',
  400104: 'currency refused',
  400105: 'returned',
  400106: 'unreachable',
  400107: 'sent',
  400108: 'short',
  400109: 'contradicted',
  400110: 'silent',
  400111: 'not instant',
}
const keptOfShort = 100n

function matches(match: Match, payment: Payment): boolean {
  const scheme = payment.isInstant ? 'Instant' : 'CreditTransfer'
  return (
    (match.endToEndId ?? payment.endToEndId) === payment.endToEndId &&
    (match.instructionId ?? payment.instructionId) === payment.instructionId &&
    (match.amount ?? payment.amount) === payment.amount &&
    (match.creditorAccount ?? payment.creditorAccount) === payment.creditorAccount &&
    (match.scheme ?? scheme) === scheme &&
    (match.remittance === undefined || payment.remittance?.includes(match.remittance) === true)
  )
}

/** Uses up one of the times of an order. */
function ordered({ state, records, used }: Draft, payment: Payment): Treatment | undefined {
  const times = (id: string) => used.get(id) ?? 0
  const standing = state.orders.find(({ id, order, left }) => left > times(id) && matches(order.match ?? {}, payment))
  if (standing === undefined) return undefined
  used.set(standing.id, times(standing.id) + 1)
  records.push({ t: 'used', id: standing.id })
  return standing.order.treatment
}

function unordered({ amount, creditorName }: Payment): Treatment {
  const named = /^sandbox (.*)$/i.exec(creditorName.trim())?.[1]?.toLowerCase() ?? ''
  const name = nameOfAmount[String(amount)] ?? named
  if (name === 'short') return { do: 'falsify', amount: amount > keptOfShort ? amount - keptOfShort : 1n }
  return (Object.hasOwn(byName, name) ? byName[name] : undefined) ?? { do: 'settle' }
}

export function treatmentOf(draft: Draft, payment: Payment): Treatment {
  const treatment = ordered(draft, payment) ?? unordered(payment)
  return treatment.do === 'reject' && treatment.onlyInstant === true && !payment.isInstant
    ? { do: 'settle' }
    : treatment
}
