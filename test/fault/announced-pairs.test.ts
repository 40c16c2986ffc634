/**
 * A bank announces payments and lists them on statements, in other words: no payment is credited twice, and none is lost. Each is credited
 * once or stands in suspense with a case. `npm run test:faults -- pairs` makes 10,000 pairs; MODEL_SEED repeats a run.
 */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { sql } from '../../service/src/postgres/index.ts'
import { createTestService, addPartner, balanceOf } from '../support/composition.ts'
import { casesOf, createBankFolders, createIncomingBank, ownIban, reportXml } from '../support/iso-incoming.ts'
import { drawing } from '../support/drawing.ts'
import { scaled } from '../support/faults.ts'
import { announcement, listing, makePairs, type AnnouncedPair } from '../support/announced-pairs.ts'
import { createRandom } from '../support/random.ts'

const days = Array.from({ length: 14 }, (_none, index) =>
  Temporal.PlainDate.from('2026-01-05').add({ days: index }).toString(),
)
/** The last statements list what was booked late. */
const statementDays = [...days, '2026-01-19', '2026-01-20', '2026-01-21']

type Row = {
  readonly kind: string
  readonly amount: bigint
  readonly said: string | null
  readonly isDoubt: boolean
  readonly isListed: boolean
}

async function run(t: TestContext, count: number) {
  const { seed, numRuns } = drawing(t, count)
  const service = await createTestService({ chooseConnector: () => 'iso20022' })
  const folders = await createBankFolders()
  t.after(async () => {
    await service.close()
    await folders.remove()
  })
  const partner = await addPartner(service)
  const ibans = []
  for (let index = 0; index < 8; index += 1)
    ibans.push((await service.accounts.create(partner.partnerId, partner.customer.id)).ibans[0].iban)
  const bank = createIncomingBank(service, folders)
  const pairs = makePairs({ count: numRuns, seed, ibans, days })
  const random = createRandom(seed + 1)
  let balance = 0n
  let files = 0
  const put = async (text: string) => folders.put(`${`${(files += 1)}`.padStart(5, '0')}.xml`, text)
  const announce = async (kind: 'camt.052' | 'camt.054', list: readonly AnnouncedPair[]) => {
    if (list.length === 0) return
    const entries = announcement(list)
    await put(reportXml(entries, { kind }))
    // A bank sends some of its messages again, with another id.
    if (random.chance(0.2)) await put(reportXml(entries, { kind }))
  }
  for (const day of statementDays) {
    const ofDay = pairs.filter((pair) => pair.day === day)
    await announce(
      'camt.052',
      ofDay.filter(({ order }) => order === 'interim'),
    )
    await announce(
      'camt.054',
      ofDay.filter(({ order }) => order !== 'late' && order !== 'unannounced'),
    )
    const listed = pairs.filter(({ listedOn, order }) => listedOn === day && order !== 'absent')
    const entries = listing(listed).toSorted(() => (random.chance(0.5) ? 1 : -1))
    const opening = balance
    for (const { amount, isCredit } of entries) balance += (isCredit ? 1n : -1n) * (amount.minor ?? 0n)
    const statement = { kind: 'camt.053', statementId: day, opening, closing: balance, on: day } as const
    await put(reportXml(entries, statement))
    if (random.chance(0.3)) await put(reportXml(entries, statement))
    await announce(
      'camt.054',
      listed.filter(({ order }) => order === 'late'),
    )
    await bank.work()
  }
  const rows = await service.db.rows<Row>(sql`
    select kind, amount, (refs::json)->>'information' as said, subject_id is not null as is_doubt,
      statement_id is not null as is_listed
    from rails.iso_entries`)
  return { service, partner, pairs, rows }
}

test('an announced credit and its statement entry are credited once, or open a case', async (t) => {
  const { service, partner, pairs, rows } = await run(t, scaled(400, 10_000))
  const byPair = Map.groupBy(rows, ({ said }) => numberIn(said))
  let [strong, strongCases, weak, weakCases] = [0, 0, 0, 0]
  for (const alike of Map.groupBy(pairs, (pair) => pair.alike).values()) {
    const own = [...new Set(alike.map(({ announced: { detail } }) => numberIn(detail.information)))].flatMap(
      (number) => byPair.get(number) ?? [],
    )
    const counted = own.filter(({ isDoubt }) => !isDoubt)
    const [pair] = alike
    const told = `${JSON.stringify({ pair, orders: alike.map(({ order }) => order) }, exact)} is ${JSON.stringify(own, exact)}`
    assert.ok(counted.length <= alike.length, `counts twice: ${told}`)
    // What was announced and is on no statement may be another one of them.
    assert.ok(own.length >= alike.filter(({ order }) => order !== 'absent').length, `lost: ${told}`)
    const cases = own.length - counted.length
    if (pair?.isStrong) [strong, strongCases] = [strong + alike.length, strongCases + cases]
    else [weak, weakCases] = [weak + alike.length, weakCases + cases]
  }
  const sums = byPair.get('sum') ?? []
  assert.deepEqual(sums, [], 'a sum stands beside its payments')
  const credited = rows.filter(({ kind }) => kind === 'credit').reduce((sum, { amount }) => sum + amount, 0n)
  assert.equal((await balanceOf(service, partner.partnerId)).posted, credited)
  const suspense = rows.filter(({ kind }) => kind === 'unknown').map(({ amount }) => amount)
  const cases = (await casesOf(service)).flatMap(({ booked }) => booked ?? [])
  const ordered = (list: readonly bigint[]) => list.toSorted((a, b) => Number(a - b))
  assert.deepEqual(ordered(cases), ordered(suspense))
  const share = (part: number, whole: number) =>
    `${part} of ${whole} (${((100 * part) / Math.max(1, whole)).toFixed(2)} %)`
  t.diagnostic(
    `account ${ownIban}: cases of pairs that share a reference ${share(strongCases, strong)}, of others ${share(weakCases, weak)}`,
  )
  assert.ok(strongCases * 100 <= strong, 'more than one in a hundred pairs that share a reference needs a person')
})

/** `sum`: a booking that names no payment. */
const numberIn = (said: string | null | undefined): string => /#(\d+)/.exec(said ?? '')?.[1] ?? 'sum'
const exact = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value)
