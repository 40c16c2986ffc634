/**
 * Statements as banks write them, with what each booking is: netted ones, batches whose payments state another amount, charges at one level or two,
 * amounts with five decimals, balances of several days in any order, numbers that do not count, pages, times in UTC. The oracle is the list
 * of payments and charges from which the bookings were made.
 */
import {
  accountReportXml,
  type Amount,
  type BankEntry,
  type EntryDetail,
  type ReportPart,
} from '../../service/src/iso20022/index.ts'
import { entryOf, euro, partsOf, reportXml } from './iso-incoming.ts'
import { createRandom, type Random } from './random.ts'

export type PaidPayout = { readonly endToEndId: string; readonly minor: bigint }
type Detail = Partial<EntryDetail>
/** `moved`: what the balance shows, also where the entry does not. `announced`: as another message has it, perhaps apart. */
type BookedEntry = { readonly entry: BankEntry; readonly moved: bigint; readonly announced?: readonly BankEntry[] }

/** Each once, whatever the files say how often. */
export type Oracle = {
  /** Credits of customers by their end-to-end id. */
  readonly credits: Map<string, bigint>
  readonly paid: Set<string>
  readonly fees: bigint[]
  /** Entries whose amount only the balances prove, and which no other message names. */
  readonly unread: bigint[]
}

type DayDraft = {
  readonly random: Random
  readonly ibans: readonly string[]
  readonly payouts: PaidPayout[]
  readonly oracle: Oracle
  number: number
}

const inText = (text: string, currency = 'EUR'): Amount => ({ currency, minor: null, text })
const dollars = (minor: bigint): Amount => ({ currency: 'USD', minor: minor + 17n })

/** Adds amounts that inform about a credit and move nothing. */
const informative: readonly Detail[] = [
  {},
  { charges: [{ amount: inText('0.025'), isIncluded: false }] },
  { charges: [{ amount: inText('-1.50') }] },
  { amounts: { instructed: { amount: inText('23.91455', 'USD') } } },
  { amounts: { instructed: { amount: inText('110.00455') } }, chargesTotal: inText('0.00001') },
]

function creditOf(making: DayDraft, minor: bigint, more: Detail = {}): Detail {
  const { random, ibans, oracle } = making
  const endToEndId = `C${(making.number += 1)}`
  oracle.credits.set(endToEndId, minor)
  const creditorAccount = { iban: random.pick(ibans) }
  return { references: { endToEndId }, isCredit: true, creditorAccount, debtor: { name: 'Mira Beispiel' }, ...more }
}

/** No two credits have one amount: what may be which is the subject of the pairs of announcements. */
const newMinor = (making: DayDraft): bigint => 1000n + BigInt((making.number += 1)) * 3n

function paidOf({ oracle }: DayDraft, { endToEndId }: PaidPayout, more: Detail): Detail {
  oracle.paid.add(endToEndId)
  return { references: { endToEndId }, isCredit: false, ...more }
}

function single(making: DayDraft): BookedEntry {
  const minor = newMinor(making)
  const amount = making.random.chance(0.7) ? { amount: euro(minor) } : {}
  return {
    entry: entryOf(minor, { details: [creditOf(making, minor, { ...amount, ...making.random.pick(informative) })] }),
    moved: minor,
  }
}

/** The bank has kept a charge of the payer's amount, and says so at one level or at both. */
function charged(making: DayDraft): BookedEntry {
  const [minor, kept] = [newMinor(making), 150n]
  const charges = [{ amount: euro(kept), isIncluded: true }]
  const level = making.random.number(3)
  const detail = creditOf(making, minor, { amount: euro(minor + kept), ...(level === 0 ? {} : { charges }) })
  return { entry: entryOf(minor, { details: [detail], ...(level === 1 ? {} : { charges }) }), moved: minor }
}

/** Our payout and a customer's money in one booking: often of zero. */
function netted(making: DayDraft): BookedEntry | undefined {
  const payout = making.payouts.pop()
  if (payout === undefined) return undefined
  const { random } = making
  const credits = random.chance(0.5) ? [payout.minor] : [payout.minor, newMinor(making)]
  const details = [
    paidOf(making, payout, { amount: euro(payout.minor) }),
    ...credits.map((minor) => creditOf(making, minor, { amount: euro(minor) })),
  ]
  const moved = credits.reduce((sum, minor) => sum + minor, -payout.minor)
  const entry = entryOf(moved, { details: random.chance(0.5) ? details : details.toReversed() })
  const apart = details.map(({ amount, ...detail }) => {
    const minor = amount?.minor ?? 0n
    return entryOf(detail.isCredit === true ? minor : -minor, { details: [detail] })
  })
  return {
    entry: moved === 0n && random.chance(0.5) ? { ...entry, isCredit: true } : entry,
    moved,
    ...(random.chance(0.3) ? { announced: apart } : {}),
  }
}

/** The ways in which a payment of a batch states what was paid. */
const ways: readonly ((minor: bigint) => Detail)[] = [
  (minor) => ({ amount: euro(minor) }),
  (minor) => ({ amounts: { instructed: { amount: euro(minor) } } }),
  (minor) => ({ amount: dollars(minor), amounts: { transaction: { amount: euro(minor) } } }),
  (minor) => ({
    amount: dollars(minor),
    amounts: { instructed: { amount: dollars(minor) }, counterValue: { amount: euro(minor) } },
  }),
]

function batch(making: DayDraft): BookedEntry | undefined {
  const { random, payouts, oracle } = making
  const paid = payouts.splice(0, 1 + random.number(4))
  if (paid.length === 0) return undefined
  const way = random.pick(ways)
  const charge = random.chance(0.5) ? 25n * BigInt(paid.length) : 0n
  const each = { charges: [{ amount: euro(25n), ...(random.chance(0.5) ? { isIncluded: true } : {}) }] }
  const own = { charges: [{ amount: euro(charge), isIncluded: random.chance(0.5) }] }
  const level = charge === 0n ? 'none' : random.pick(['entry', 'total', 'both', 'payments'])
  const details = paid.map((one) =>
    paidOf(making, one, { ...way(one.minor), ...(level === 'both' || level === 'payments' ? each : {}) }),
  )
  const nothing = random.chance(0.2) ? [{ references: {}, amount: euro(0n), information: 'nothing' }] : []
  const moved = paid.reduce((sum, { minor }) => sum - minor, -charge)
  if (charge > 0n) oracle.fees.push(-charge)
  const stated = level === 'total' ? { chargesTotal: euro(charge) } : level === 'entry' || level === 'both' ? own : {}
  return { entry: entryOf(moved, { details: [...details, ...nothing], ...stated }), moved }
}

/** An amount that is none of the currency; an announcement may have it right. */
function unread(making: DayDraft, isAnnounced: boolean): BookedEntry {
  const minor = newMinor(making)
  const detail = isAnnounced ? creditOf(making, minor) : {}
  if (!isAnnounced) making.oracle.unread.push(minor)
  const announced = entryOf(minor, { details: [detail] })
  const text = `${minor / 100n}.${String(minor % 100n).padStart(2, '0')}4`
  return {
    entry: { ...announced, amount: inText(text) },
    moved: minor,
    ...(isAnnounced ? { announced: [announced] } : {}),
  }
}

/** How the bank numbers its statements. */
const numberings = ['consecutive', 'time', 'same', 'none'] as const
const after = (day: string, days: number): string => Temporal.PlainDate.from(day).add({ days }).toString()
const firstDay = '2026-01-05'

export type StatementStep = { readonly files: readonly string[] }
export type GeneratedStatements = {
  readonly oracle: Oracle
  readonly steps: readonly StatementStep[]
  readonly moved: bigint
  readonly statements: number
}
export type StatementRequest = {
  readonly seed: number
  readonly statements: number
  readonly ibans: readonly string[]
  readonly payouts: readonly PaidPayout[]
}

export function makeStatements({ seed, statements, ibans, payouts }: StatementRequest): GeneratedStatements {
  const random = createRandom(seed)
  const oracle: Oracle = { credits: new Map(), paid: new Set(), fees: [], unread: [] }
  const making: DayDraft = { random, ibans, payouts: [...payouts], oracle, number: 0 }
  const numbering = random.pick(numberings)
  const steps: StatementStep[] = []
  let [balance, day] = [0n, firstDay]
  for (let count = 1; count <= statements; count += 1) {
    const days = random.chance(0.25) ? [day, after(day, 1)] : [day]
    const isPaged = random.chance(0.15)
    const bookings = days.map(() => bookingsOf(making, isPaged))
    const head = { numbering, count, opening: balance, days }
    const announced = bookings.flatMap((ofDay, index) =>
      ofDay.flatMap(({ entry, announced: other }) => {
        const isTold = other !== undefined || (typeof entry.amount.minor === 'bigint' && random.chance(0.3))
        return isTold ? (other ?? [entry]).map((one) => booked(one, days[index] ?? day)) : []
      }),
    )
    const files = listing(random, head, bookings, isPaged)
    const announcement = announced.length === 0 ? [] : [reportXml(announced)]
    const all = random.chance(0.5) ? [...announcement, ...files] : [...files, ...announcement]
    // A bank puts a file into the folder twice, and the files of two days in one step.
    const repeated = random.chance(0.2) ? [...all, ...all.slice(-1)] : all
    const last = steps.at(-1)
    if (last !== undefined && random.chance(0.15)) steps[steps.length - 1] = { files: [...repeated, ...last.files] }
    else steps.push({ files: repeated })
    balance += sumOf(bookings.flat())
    day = after(days.at(-1) ?? day, 1)
  }
  return { oracle, steps, moved: balance, statements }
}

const sumOf = (bookings: readonly BookedEntry[]): bigint => bookings.reduce((sum, { moved }) => sum + moved, 0n)

function bookingsOf(making: DayDraft, isPaged: boolean): readonly BookedEntry[] {
  const { random } = making
  const made = Array.from(
    { length: random.number(4) },
    () => random.pick([single, charged, netted, batch])(making) ?? single(making),
  )
  return isPaged || !random.chance(0.12) ? made : [...made, unread(making, random.chance(0.5))]
}

const booked = (entry: BankEntry, on: string): BankEntry => ({ ...entry, bookingDate: on, valueDate: on })

type Head = {
  readonly numbering: (typeof numberings)[number]
  readonly count: number
  readonly opening: bigint
  readonly days: readonly string[]
}

/** The files of one statement. */
function listing(
  random: Random,
  head: Head,
  bookings: readonly (readonly BookedEntry[])[],
  isPaged: boolean,
): readonly string[] {
  const { numbering, count, days } = head
  const [first = firstDay] = days
  const last = days.at(-1) ?? first
  const isInUtc = random.chance(0.3)
  const at = (day: string) => (isInUtc ? `${after(day, -1)}T23:00:00.000Z` : day)
  // Two amounts of a statement that no balance tells apart are not known.
  let hasUnread = false
  const entries = bookings.flatMap((ofDay, index) =>
    ofDay.map(({ entry, moved }) => {
      const isSecond = entry.amount.minor === null && hasUnread
      hasUnread ||= entry.amount.minor === null
      return booked(isSecond ? { ...entry, amount: euro(moved) } : entry, at(days[index] ?? first))
    }),
  )
  const closing = head.opening + sumOf(bookings.flat())
  const middle = head.opening + sumOf(bookings[0] ?? [])
  const opened = random.chance(0.7)
    ? balanceOf('OPBD', head.opening, at(first))
    : balanceOf('PRCD', head.opening, at(after(first, -1)))
  const ofDays = days.length === 1 ? [] : [balanceOf('CLBD', middle, at(first)), balanceOf('OPBD', middle, at(last))]
  const others = [
    balanceOf('CLAV', closing + 7n, at(last)),
    balanceOf('FWAV', closing - 9n, at(after(last, 1))),
    balanceOf('ITBD', 5n, at(first)),
  ]
  const further = others.filter(() => random.chance(0.4))
  const balances = shuffled(random, [opened, ...ofDays, balanceOf('CLBD', closing, at(last)), ...further])
  const number = {
    consecutive: String(count),
    time: `${first.replaceAll('-', '')}0639${String(random.number(10_000)).padStart(4, '0')}`,
    same: '1',
    none: undefined,
  }
  const sequence = number[numbering]
  const file = (own: readonly BankEntry[], page?: { readonly number: string; readonly isLast: boolean }) =>
    [
      ...accountReportXml(
        Iterator.from(partsOf(own, { kind: 'camt.053', statementId: `S${count}`, on: last })).map(
          (part): ReportPart => {
            if (part.kind !== 'statement') return part
            const paged = page === undefined ? {} : { page }
            const numbered = sequence === undefined ? {} : { electronicSequence: sequence }
            return { ...part, statement: { ...part.statement, ...numbered, ...paged, balances } }
          },
        ),
      ),
    ].join('')
  if (!isPaged || entries.length < 2) return [file(entries)]
  const pages = [
    file(entries.slice(0, 1), { number: '1', isLast: false }),
    file(entries.slice(1), { number: '2', isLast: true }),
  ]
  return random.chance(0.5) ? pages : pages.toReversed()
}

const balanceOf = (code: string, minor: bigint, date: string) => ({
  type: { code },
  creditLines: [],
  amount: euro(minor < 0n ? -minor : minor),
  isCredit: minor >= 0n,
  date,
})

function shuffled<T>(random: Random, list: readonly T[]): readonly T[] {
  return list
    .map((one) => ({ one, at: random.number(1000) }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ one }) => one)
}
