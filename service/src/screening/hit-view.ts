/**
 * Pure: a hit for the person who decides, the same for the command, the desk and JSON: the listed entry beside the party, field by field,
 * why it scored, the payments that it holds, and earlier decisions about the same pair.
 */
import type { Currency, Minor } from '../kernel/index.ts'
import type { ListedDocument } from './lists/entry.ts'
import type { WordMatch } from './names/compare.ts'
import { plainName } from './names/words.ts'
import type { Subject, SubjectName } from './rules.ts'
import type { Hit } from './service.ts'
import type { DecisionRow } from './store.ts'

/** A payment that waits for a decision about a hit. */
export type HeldPayment = {
  readonly kind: 'payout' | 'deposit'
  readonly id: string
  readonly reference: string
  readonly amount: Minor
  readonly currency: Currency
  readonly since: Date
}

/** `agrees`: a value of the party is one of the entry. `unknown`: one side says nothing. Spellings of addresses are for the person. */
export type FieldVerdict = 'agrees' | 'differs' | 'unknown'
type ComparedField = {
  readonly field: 'names' | 'births' | 'countries' | 'documents' | 'accounts' | 'addresses' | 'programmes'
  readonly party: readonly string[]
  readonly listed: readonly string[]
  readonly verdict: FieldVerdict
}

/** An earlier hit about the entry. `sameSubject`: about the same party; otherwise another one of the partner has the same name. */
export type EarlierHit = { readonly hit: Hit; readonly decisions: readonly DecisionRow[] }
type EarlierDecision = Pick<DecisionRow, 'kind' | 'outcome' | 'disposition' | 'actor' | 'note' | 'decidedAt'> & {
  readonly hitId: string
  readonly name: string
  readonly sameSubject: boolean
}

export type HitView = {
  readonly entry: Pick<Hit, 'source' | 'entryId' | 'reference' | 'kind'> & {
    /** The list by which the hit was opened. Null: a version before kept no time. */
    readonly publishedAt: Date | null
    readonly generation: number
  }
  readonly fields: readonly ComparedField[]
  readonly words: readonly WordMatch[]
  readonly payments: readonly HeldPayment[]
  /** Says that more payments wait than are listed. */
  readonly morePayments: boolean
  /** Sums of the listed payments. */
  readonly sums: readonly Pick<HeldPayment, 'currency' | 'amount'>[]
  /** Oldest first. */
  readonly earlier: readonly EarlierDecision[]
  /**
   * Names what ends the hit. `persons`: it is open, and a decision ends it. `change`: it is cleared, and a new hit is opened if the entry changes or
   * the party gets another listed name. `revocation`: it is confirmed, and two persons may clear it. `ended`: another one has replaced it.
   */
  readonly endsBy: 'persons' | 'change' | 'revocation' | 'ended'
}

export const paymentsShown = 20

export function viewOfHit(
  hit: Hit,
  subject: Subject,
  { payments, earlier }: { readonly payments: readonly HeldPayment[]; readonly earlier: readonly EarlierHit[] },
): HitView {
  const { source, entryId, reference, kind, publishedAt = null, generation, words } = hit
  const shown = payments.slice(0, paymentsShown)
  const sums = [...Map.groupBy(shown, ({ currency }) => currency)].map(([currency, each]) => ({
    ...{ currency, amount: each.reduce((sum, { amount }) => sum + amount, 0n) },
  }))
  return {
    entry: {
      source,
      entryId,
      reference,
      kind,
      publishedAt: publishedAt === null ? null : new Date(publishedAt),
      generation,
    },
    fields: fieldsOf(hit, subject),
    words,
    payments: shown,
    morePayments: payments.length > paymentsShown,
    sums,
    earlier: earlierOf(hit, earlier),
    endsBy: hit.endedAt !== null ? 'ended' : ends[hit.status],
  }
}

const ends = { open: 'persons', cleared: 'change', confirmed: 'revocation', gone: 'ended' } as const

function fieldsOf(hit: Hit, subject: Subject): readonly ComparedField[] {
  const {
    name,
    listedName,
    listedNames = [listedName],
    births,
    countries = [],
    documents = [],
    addresses = [],
    programmes,
  } = hit
  // A hit is about one person of the subject: the data of its role, and those of the whole subject without one.
  const data = subject.data?.[hit.role]
  const ofParty = [...(data?.countries ?? []), ...subject.countries.map(({ country }) => country)]
  const said = (field: ComparedField['field'], party: readonly string[], listed: readonly string[], agrees: Agrees) => {
    const parties = [...new Set(party)]
    const known = parties.length > 0 && listed.length > 0
    const isSame = parties.some((one) => listed.some((other) => agrees(one, other)))
    return { field, party: parties, listed, verdict: known ? (isSame ? 'agrees' : 'differs') : 'unknown' } as const
  }
  const accounts = subject.account === null ? [] : [subject.account]
  return [
    said('names', [name, ...namesOfRole(subject.names, hit.role)], listedNames, () => true),
    said('births', data?.births ?? [], births, sameYear),
    said('countries', ofParty, countries, (one, other) => one === other),
    said('documents', data?.documents ?? [], documents.map(documentText), sameNumber),
    said('accounts', accounts, hit.role === 'account' ? [listedName] : [], (one, other) => one === other),
    said('addresses', [], addresses, () => false),
    said('programmes', [], programmes, () => false),
  ]
}

type Agrees = (party: string, listed: string) => boolean
const namesOfRole = (names: readonly SubjectName[], wanted: string) =>
  names.filter(({ role }) => role === wanted).map(({ name }) => name)
/** Lists often say a year only, or `circa`. */
const sameYear: Agrees = (party, listed) => listed.includes(party.slice(0, 4))
const signs = (text: string) => text.replaceAll(/[^\p{L}\d]/gu, '').toUpperCase()
const sameNumber: Agrees = (party, listed) => signs(listed).includes(signs(party))
const documentText = ({ type, number, country }: ListedDocument) =>
  [type, number, country].filter((part) => part !== '').join(' ')

/** Decisions about the same entry: of the same subject, and of others that have the same name. */
function earlierOf(hit: Hit, earlier: readonly EarlierHit[]): readonly EarlierDecision[] {
  return earlier
    .filter(({ hit: { id } }) => id !== hit.id)
    .flatMap(({ hit: other, decisions }) => {
      const sameSubject = other.subjectKind === hit.subjectKind && other.subjectId === hit.subjectId
      if (!sameSubject && plainName(other.name) !== plainName(hit.name)) return []
      return decisions.map(({ kind, outcome, disposition, actor, note, decidedAt }) => ({
        ...{ kind, outcome, disposition, actor, note, decidedAt },
        ...{ hitId: other.id, name: other.name, sameSubject },
      }))
    })
    .toSorted((a, b) => a.decidedAt.getTime() - b.decidedAt.getTime())
}

/**
 * Reports whether persons have cleared the same name for the same entry: in a text of another payment, or as the name of a party that a text
 * repeats. A payer is the same by name and account. Then no new hit is opened.
 */
export function isClearedPair(
  { role, name, account }: { readonly role: string; readonly name: string; readonly account: string | null },
  cleared: readonly Hit[],
): boolean {
  const plain = ` ${plainName(name)} `
  return cleared.some((hit) =>
    role === 'text'
      ? plain.includes(` ${plainName(hit.name)} `)
      : role === 'payer' && account !== null && hit.account === account && ` ${plainName(hit.name)} ` === plain,
  )
}
