/**
 * Payments as a bank reports them twice: announced by a camt.054 (or camt.052), and on the statement in other words. Fields are left out,
 * changed, cut and shifted, as messages of real banks do it. `AddtlTxInf` has the number of the payment, by which a test knows it; the
 * service compares it with nothing.
 */
import type { BankEntry, EntryDetail } from '../../service/src/iso20022/index.ts'
import { euro } from './iso-incoming.ts'
import { createRandom, type Random } from './random.ts'

const orders = ['announced', 'late', 'interim', 'unannounced', 'absent'] as const
type Order = (typeof orders)[number]

export type AnnouncedPair = {
  readonly number: number
  /** When the payer's money came. */
  readonly day: string
  readonly listedOn: string
  readonly minor: bigint
  readonly isCredit: boolean
  readonly order: Order
  /** The name of the batch whose payments the statement has as one sum. */
  readonly batch: string | null
  /** A reference of the payer or of the scheme is in both. */
  readonly isStrong: boolean
  readonly announced: ReportedDetail
  readonly listed: ReportedDetail
  /** The number of the first of payments of one payer with one amount to one customer: which of them is which does no harm. */
  readonly alike: number
}
type ReportedDetail = { readonly detail: EntryDetail; readonly bankReference?: string }

export type PairOptions = {
  readonly count: number
  readonly seed: number
  readonly ibans: readonly string[]
  readonly days: readonly string[]
}

const names = [
  'Jürgen Müller-Lüdenscheidt',
  'Zoë Çelik',
  'Łukasz Żółw',
  'Anna Straße und Partner Rechtsanwälte GmbH',
  'Ó Briain Seán',
]
const prices = [9_99n, 25_00n, 49_90n, 120_00n]

/** Monday follows a weekend; a bank books some payments up to three days later. */
function listedOn(day: string, random: Random): string {
  const plain = Temporal.PlainDate.from(day)
  const later = plain.add({ days: random.chance(0.1) ? 1 + random.number(2) : 0 })
  return later.add({ days: later.dayOfWeek === 6 ? 2 : later.dayOfWeek === 7 ? 1 : 0 }).toString()
}

const withoutAccents = (name: string) =>
  name
    .normalize('NFD')
    .replace(/\p{Mark}/gu, '')
    .replaceAll('ß', 'ss')
    .replaceAll('ł', 'l')
    .replaceAll('Ł', 'L')
const others = (name: string, random: Random) =>
  random.pick([
    name,
    name.toUpperCase(),
    withoutAccents(name),
    name.slice(0, 18),
    withoutAccents(name).toUpperCase().slice(0, 35),
  ])

export function makePairs({ count, seed, ibans, days }: PairOptions): readonly AnnouncedPair[] {
  const random = createRandom(seed)
  const pairs: AnnouncedPair[] = []
  while (pairs.length < count) {
    const size = random.chance(0.03) ? 2 + random.number(4) : 1
    const batch = size > 1 ? `B${seed}-${pairs.length}` : null
    const shared = {
      day: random.pick(days),
      isCredit: batch !== null || random.chance(0.93),
      order: orderOf(random, batch !== null),
    }
    const listed = listedOn(shared.day, random)
    for (let index = 0; index < size; index += 1) {
      const before = pairs.at(-1)
      const isAgain = batch === null && before?.batch === null && random.chance(0.1)
      const number = pairs.length
      // The same payer pays the same amount again, on the same day.
      if (isAgain && random.chance(0.5))
        pairs.push({
          ...before,
          number,
          order: before.order === 'announced' ? random.pick(['announced', 'unannounced']) : before.order,
        })
      else if (isAgain)
        pairs.push({
          ...tell(random, { ...before, number }, before),
          ...shared,
          alike: before.alike,
          day: before.day,
          isCredit: before.isCredit,
          listedOn: before.listedOn,
        })
      else
        pairs.push({
          ...tell(random, { number, minor: minorOf(random, number), batch, iban: random.pick(ibans) }),
          ...shared,
          listedOn: listed,
        })
    }
  }
  return pairs
}

const minorOf = (random: Random, number: number): bigint =>
  random.chance(0.3) ? random.pick(prices) : 1_00n + BigInt(random.number(90_000) + (number % 7))

function orderOf(random: Random, isBatch: boolean): Order {
  const roll = random.number(100)
  if (roll < 72) return 'announced'
  if (roll < 82) return 'late'
  if (isBatch) return 'announced'
  return roll < 90 ? 'interim' : roll < 95 ? 'unannounced' : 'absent'
}

type Facts = { readonly number: number; readonly minor: bigint; readonly batch: string | null; readonly iban?: string }

function tell(
  random: Random,
  { number, minor, batch, iban }: Facts,
  before?: AnnouncedPair,
): Omit<AnnouncedPair, 'day' | 'listedOn' | 'isCredit' | 'order'> {
  const id = `${number}`.padStart(8, '0')
  const payer = before?.announced.detail ?? {
    debtor: { name: `${random.pick(names)} ${number % 97}` },
    debtorAccount: { iban: `DE${10 + (number % 80)}37040044${`${number}`.padStart(10, '0')}` },
    creditorAccount: { iban: iban ?? '' },
  }
  const references = {
    ...(random.chance(0.75) ? { endToEndId: `E2E-${id}` } : { endToEndId: 'NOTPROVIDED' }),
    ...(random.chance(0.4) ? { transactionId: `TX${id}` } : {}),
    ...(random.chance(0.2) ? { uetr: `0${id}-0000-4000-8000-000000000000`.slice(1) } : {}),
  }
  const text =
    `Rechnung ${id} vom Monat, Kundennummer ${number % 1000} ${'und weitere Angaben '.repeat(random.number(8))}`.trim()
  const remittance = random.chance(0.1)
    ? { structured: [{ creditorReference: `RF18${id}` }] }
    : { unstructured: [text.slice(0, 140)] }
  const { debtor, debtorAccount, creditorAccount } = payer
  const detail: EntryDetail = {
    ...{ references, charges: [], amount: euro(minor), remittance, information: `#${number}` },
    ...(debtor ? { debtor } : {}),
    ...(debtorAccount ? { debtorAccount } : {}),
    ...(creditorAccount ? { creditorAccount } : {}),
  }
  const listed = retold(random, detail)
  // Some banks count by the day, or less.
  const isCounted = random.chance(0.2)
  const own = isCounted ? `N${number % 50}` : `ASR${id}`
  const [first, second] = random.pick([
    [own, own],
    [undefined, own],
    [own, undefined],
    [own, `L${own}`],
  ])
  const isStrong = (['endToEndId', 'transactionId', 'uetr'] as const).some(
    (name) =>
      references[name] !== undefined &&
      references[name] !== 'NOTPROVIDED' &&
      listed.references[name] === references[name],
  )
  return {
    number,
    minor,
    batch,
    alike: number,
    isStrong: isStrong || (!isCounted && first !== undefined && first === second),
    announced: { detail, ...(first === undefined ? {} : { bankReference: first }) },
    listed: { detail: listed, ...(second === undefined ? {} : { bankReference: second }) },
  }
}

/** The same payment on the statement. */
function retold(random: Random, detail: EntryDetail): EntryDetail {
  const { debtor, debtorAccount, references, remittance, ...kept } = detail
  const { endToEndId, transactionId, uetr } = references
  const [text] = remittance?.unstructured ?? []
  const cut = random.pick([undefined, 140, 35])
  return {
    ...kept,
    references: {
      ...(endToEndId === undefined || random.chance(0.2) ? {} : { endToEndId }),
      ...(transactionId === undefined || random.chance(0.4) ? {} : { transactionId }),
      ...(uetr === undefined || random.chance(0.4) ? {} : { uetr }),
    },
    ...(debtor?.name === undefined || random.chance(0.15) ? {} : { debtor: { name: others(debtor.name, random) } }),
    ...(debtorAccount === undefined || random.chance(0.35) ? {} : { debtorAccount }),
    ...(remittance === undefined || random.chance(0.15)
      ? {}
      : { remittance: text === undefined ? remittance : { unstructured: [text.slice(0, cut)] } }),
  }
}

const isSum = ({ batch }: AnnouncedPair) => batch !== null

/** One booking. Below zero its money left. */
export function toEntry(
  { isCredit }: Pick<AnnouncedPair, 'isCredit'>,
  day: string,
  told: readonly ReportedDetail[],
  bankReference: string | undefined,
): BankEntry {
  const details = told.map(({ detail }) => (isCredit ? detail : debited(detail)))
  const minor = details.reduce((sum, { amount }) => sum + (amount?.minor ?? 0n), 0n)
  return {
    ...{
      amount: euro(minor),
      isCredit,
      isReversal: false,
      status: 'BOOK',
      bookingDate: day,
      valueDate: day,
      charges: [],
      batches: [],
      details,
    },
    codes: { domain: 'PMNT', family: isCredit ? 'RCDT' : 'ICDT', subFamily: 'ESCT' },
    ...(bankReference === undefined ? {} : { bankReference }),
  }
}

const debited = ({ debtor, debtorAccount, creditorAccount: _none, ...rest }: EntryDetail): EntryDetail => ({
  ...rest,
  ...(debtor ? { creditor: debtor } : {}),
  ...(debtorAccount ? { creditorAccount: debtorAccount } : {}),
})

const entriesOf = (
  pairs: readonly AnnouncedPair[],
  name: 'announced' | 'listed',
  day: (pair: AnnouncedPair) => string,
): readonly BankEntry[] => [
  ...pairs
    .filter((pair) => !isSum(pair))
    .map((pair) => toEntry(pair, day(pair), [pair[name]], pair[name].bankReference)),
  ...[...Map.groupBy(pairs.filter(isSum), ({ batch }) => batch).values()].flatMap((batch) => {
    const [first] = batch
    return first === undefined ? [] : [batchEntry(first, batch, name, day(first))]
  }),
]

/** The statement has a batch as a sum, with the number of its payments. */
function batchEntry(
  first: AnnouncedPair,
  batch: readonly AnnouncedPair[],
  name: 'announced' | 'listed',
  day: string,
): BankEntry {
  const entry = toEntry(
    first,
    day,
    batch.map((pair) => pair[name]),
    first[name].bankReference,
  )
  return name === 'announced' ? entry : { ...entry, details: [], batches: [{ count: batch.length }] }
}

export const announcement = (pairs: readonly AnnouncedPair[]) => entriesOf(pairs, 'announced', ({ day }) => day)
export const listing = (pairs: readonly AnnouncedPair[]) => entriesOf(pairs, 'listed', ({ listedOn: day }) => day)
