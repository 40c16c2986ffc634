/**
 * The rules of monitoring over the transactions of one partner with 5,000 customers, as a backtest reads them: what each kind costs for a
 * transaction, beside the kind that asks the database nothing (`country`); and for a customer that has a large part of the last days.
 * `node bench/monitoring.ts [transactions]`, by default 300,000 over 90 days.
 */
import { readRule } from '../service/src/monitoring/index.ts'
import { dayMs } from '../service/src/kernel/index.ts'
import { numbersGiven } from '../scripts/arguments.ts'
import { addPartner, createTestService } from '../test/support/composition.ts'

const { transactions } = numbersGiven({ transactions: 300_000 })
/** How many of the last transactions are those in which one customer has four of ten. */
const lastOnes = Math.min(20_000, transactions / 10)
const customers = 5000
const insertedAtOnce = 100_000

/** The first is what the others are compared with. */
const rules = [
  { kind: 'country', direction: 'Outward', countries: ['IR'] },
  { kind: 'velocity', direction: 'Outward', hours: 24, count: 50 },
  { kind: 'velocity', direction: 'Outward', hours: 24, count: 50, counts: 'AllCurrencies' },
  { kind: 'structuring', direction: 'Outward', hours: 72, threshold: '1000.00', count: 3 },
  { kind: 'new_payee', hours: 24, sum: '5000.00' },
  { kind: 'dormant', direction: 'Outward', days: 30, sum: '500.00' },
  { kind: 'round_trip', hours: 48, sum: '500.00' },
  { kind: 'many_payers', hours: 24, payers: 20 },
  { kind: 'many_customers', hours: 24, customers: 20 },
  { kind: 'failures', hours: 24, count: 20 },
]

const service = await createTestService({ now: new Date() })
const { partnerId, customer } = await addPartner(service)
// Ids follow the time, as those of the service do.
for (let first = 1; first <= transactions; first += insertedAtOnce)
  await service.db.pool.query(
    `insert into transactions.transactions (partner_id, id, reference, amount, currency, category, direction, method, party_type, type,
    status, customer_id, beneficiary_id, creditor, debtor, created_at, updated_at, timeline)
  select $1, (lpad(to_hex(ms), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid, 'r' || n, 100 + n * 7919 % 100000, 'EUR',
    case n % 2 when 0 then 'Withdrawal' else 'Deposit' end, case n % 2 when 0 then 'Outward' else 'Inward' end, 'Fiat', 'Customer',
    case n % 2 when 0 then 'CustomerWithdrawal' else 'CustomerDeposit' end, 'Completed',
    case when n > $2::bigint - $4::bigint and n % 10 < 4 then $3::uuid
      else ('00000000-0000-7000-8000-' || lpad(to_hex(n % $5::bigint), 12, '0'))::uuid end,
    ('00000000-0000-7000-9000-' || lpad(to_hex(n % 20000), 12, '0'))::uuid,
    json_build_object('iban', 'DE' || lpad((n % 7919)::text, 20, '0'))::text,
    json_build_object('iban', 'DE' || lpad((n % 6007)::text, 20, '0'))::text,
    to_timestamp(ms / 1000.0), to_timestamp(ms / 1000.0), '[]'
  from (select n, $6::bigint - (($2::bigint - n) * (90.0 * 86400000 / $2::bigint))::bigint as ms
    from generate_series($7::bigint, $8::bigint) as n) as made`,
    [
      partnerId,
      transactions,
      customer.id,
      lastOnes,
      customers,
      service.clock.now().getTime(),
      first,
      Math.min(transactions, first + insertedAtOnce - 1),
    ],
  )
// Five beneficiaries have each account.
await service.db.pool.query(
  `insert into beneficiaries.beneficiaries (partner_id, id, name, iban, currency, created_at, updated_at)
  select $1, ('00000000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid, 'Payee', 'DE' || lpad((n % 4000)::text, 20, '0'), 'EUR', at, at
  from generate_series(0, 19999) as n cross join (values ($2::timestamptz)) as made (at)`,
  [partnerId, service.clock.now()],
)
await service.db.pool.query('analyze transactions.transactions, beneficiaries.beneficiaries')

const dayBefore = (days: number): string =>
  new Date(service.clock.now().getTime() - days * dayMs).toISOString().slice(0, 10)
const parts = {
  'two weeks of all': [dayBefore(34), dayBefore(20)],
  // A whole day, whatever the time is now.
  yesterday: [dayBefore(1), dayBefore(1)],
} as const

const nameOf = ({ kind, counts }: { readonly kind: string; readonly counts?: string }) =>
  counts === undefined ? kind : `${kind} ${counts}`
const costs = new Map<string, number>()
for (const rule of rules) {
  const draft = readRule(JSON.stringify({ name: rule.kind, currency: 'EUR', partners: [partnerId], ...rule }))
  const by = { staff: 'bench' }
  const { id } = await service.db.transaction((tx) => service.monitoring.set(tx, { draft, ...by }))
  for (const [part, [from, until]] of Object.entries(parts)) {
    const startMs = performance.now()
    const found = await service.monitoring.backtest({ id, from, until, ...by })
    const ms = (performance.now() - startMs) / Number(found.transactions)
    costs.set(`${nameOf(rule)} ${part}`, ms)
    const ratio = ms / (costs.get(`country ${part}`) ?? ms)
    const facts = `${found.transactions} transactions, ${found.hits} hits`
    console.log(
      `${nameOf(rule).padEnd(22)} ${part.padEnd(17)} ${ms.toFixed(3)} ms each, ${ratio.toFixed(1)} times country (${facts})`,
    )
  }
}
await service.close()
