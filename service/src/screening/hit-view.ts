/**
 * Pure: a hit for the person who decides, the same for the command, the desk and JSON. It compares the listed entry with the party, field by
 * field, and shows the matched words, the held payments, and earlier decisions about the same pair.
 */
import type { Currency, Minor } from '../kernel/index.ts'
import type { ListedDocument } from './lists/entry.ts'
import type { WordMatch } from './names/compare.ts'
import { plainName } from './names/words.ts'
import type { Subject, SubjectName } from './rules.ts'
import type { Hit } from './service.ts'
import type { DecisionRow } from './store.ts'

/** A payment that is held until a decision about a hit. */
export type HeldPayment = {
  readonly kind: 'payout' | 'deposit'
  readonly id: string
  readonly reference: string
  readonly amount: Minor
  readonly currency: Currency
  readonly since: Date
}

/**
 * `agrees`: the party and the entry share a value. `unknown`: one side has no value. People compare addresses
 * themselves.
 */
export type FieldVerdict = 'agrees' | 'differs' | 'unknown'
type ComparedField = {
  readonly field: 'names' | 'births' | 'countries' | 'documents' | 'accounts' | 'addresses' | 'programmes'
  readonly party: readonly string[]
  readonly listed: readonly string[]
  readonly verdict: FieldVerdict
}

/** An earlier hit about the entry, with its decisions. */
export type EarlierHit = { readonly hit: Hit; readonly decisions: readonly DecisionRow[] }
type EarlierDecision = Pick<DecisionRow, 'kind' | 'outcome' | 'disposition' | 'actor' | 'note' | 'decidedAt'> & {
  readonly hitId: string
  readonly name: string
  readonly sameSubject: boolean
}

export type HitView = {
  readonly entry: Pick<Hit, 'source' | 'entryId' | 'reference' | 'kind'> & {
    /** When the list of the hit was published. Null: an earlier version did not store the time. */
    readonly publishedAt: Date | null
    readonly generation: number
  }
  readonly fields: readonly ComparedField[]
  readonly words: readonly WordMatch[]
  readonly payments: readonly HeldPayment[]
  /** True if more payments are held than are listed. */
  readonly morePayments: boolean
  /** Sums of the listed payments. */
  readonly sums: readonly Pick<HeldPayment, 'currency' | 'amount'>[]
  /** Earlier decisions about the same pair, oldest first. */
  readonly earlier: readonly EarlierDecision[]
  /**
   * The event that ends the hit. `persons`: it is open, and a decision ends it. `change`: it is cleared, and a change of the entry or another listed name of
   * the party opens a new hit. `revocation`: it is confirmed, and two people may clear it. `ended`: another hit has replaced it.
   */
  readonly endsBy: 'persons' | 'change' | 'revocation' | 'ended'
}

export const paymentsShown = 20

export function buildHitView(
  hit: Hit,
  subject: Subject,
  { payments, earlier }: { readonly payments: readonly HeldPayment[]; readonly earlier: readonly EarlierHit[] },
): HitView {
  const { source, entryId, reference, kind, publishedAt = null, generation, words } = hit
  const shown = payments.slice(0, paymentsShown)
  const sums = [...Map.groupBy(shown, ({ currency }) => currency)].map(([currency, each]) => ({
    currency,
    amount: each.reduce((sum, { amount }) => sum + amount, 0n),
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
    fields: compareFields(hit, subject),
    words,
    payments: shown,
    morePayments: payments.length > paymentsShown,
    sums,
    earlier: listEarlierDecisions(hit, earlier),
    endsBy: hit.endedAt !== null ? 'ended' : ends[hit.status],
  }
}

const ends = { open: 'persons', cleared: 'change', confirmed: 'revocation', gone: 'ended' } as const

function compareFields(hit: Hit, subject: Subject): readonly ComparedField[] {
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
  // A hit is about one person of the subject, so the data of that role count, and the data of the whole subject without a role.
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
    said('names', [name, ...roleNames(subject.names, hit.role)], listedNames, () => true),
    said('births', data?.births ?? [], births, sameYear),
    said('countries', ofParty, countries, (one, other) => one === other),
    said('documents', data?.documents ?? [], documents.map(documentText), sameNumber),
    said('accounts', accounts, hit.role === 'account' ? [listedName] : [], (one, other) => one === other),
    said('addresses', [], addresses, () => false),
    said('programmes', [], programmes, () => false),
  ]
}

type Agrees = (party: string, listed: string) => boolean
const roleNames = (names: readonly SubjectName[], role: string) =>
  names.filter((each) => each.role === role).map(({ name }) => name)
/** Compares only years, because lists often have only a year, or `circa`. */
const sameYear: Agrees = (party, listed) => listed.includes(party.slice(0, 4))
const signs = (text: string) => text.replaceAll(/[^\p{L}\d]/gu, '').toUpperCase()
const sameNumber: Agrees = (party, listed) => signs(listed).includes(signs(party))
const documentText = ({ type, number, country }: ListedDocument) =>
  [type, number, country].filter((part) => part !== '').join(' ')

/** Lists decisions about the same entry: for the same subject, and for others with the same name. */
function listEarlierDecisions(hit: Hit, earlier: readonly EarlierHit[]): readonly EarlierDecision[] {
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
 * Reports whether staff have cleared the same name for the same entry before: in a text of another payment, or as the name of a party that the
 * text repeats. Payers are equal by name and account. A cleared pair does not open a new hit.
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
