/** Texts of facts in each language, for mails and pages. */
import { type FactType, type GroupedType, isGroupedType } from './kinds.ts'
import type { StoredFacts, Language } from './store.ts'

type Money = { readonly amount: string; readonly currency: string }

/** Details of a fact's subject, which the modules read when a person opens the entry. */
export type FactDetails = {
  /** False if the subject is no longer pending. */
  readonly isCurrent: boolean
  readonly amounts?: readonly Money[] | undefined
  readonly payee?: string | undefined
  readonly reference?: string | undefined
  readonly askedBy?: string | undefined
  readonly until?: Date | undefined
  readonly payouts?: number | undefined
  readonly reason?: string | undefined
  readonly name?: string | undefined
  readonly kind?: Readonly<Record<Language, string>> | undefined
  /** Persons who cannot act on the subject, such as its creator. */
  readonly notFor?: readonly string[] | undefined
  /** Names of such people, because a second account of a person has a similar name. */
  readonly notForNames?: readonly string[] | undefined
}

/** A label and its value. A time is shown in the reader's zone. */
export type FactLine = readonly [label: string, value: string | Date]
export type FactText = { readonly title: string; readonly lines: readonly FactLine[] }

type FactTitles = Readonly<Record<FactType, string>>

const english: FactTitles = {
  'payout.waits': 'Payout of {amount} to {payee} waits for your approval',
  'payout.lapses': 'Payout of {amount} to {payee} is cancelled soon unless it is approved',
  'bulk.waits': 'Bulk of {payouts} payouts, {amount}, waits for your approval',
  'bulk.lapses': 'Bulk of {payouts} payouts, {amount}, is cancelled soon unless it is approved',
  'signOn.waits': 'A change of the single sign-on waits for a second Admin',
  'payout.lapsed': 'Payout of {amount} to {payee} was cancelled: it was not approved in time',
  'payout.rejected': 'Payout of {amount} to {payee} was rejected: it is not sent',
  'bulk.rejected': 'A bulk payout was rejected: it is not sent',
  'payout.failed': 'Payout of {amount} to {payee} failed',
  'payout.returned': 'Payout of {amount} to {payee} came back',
  'order.failed': 'A standing order could not pay {amount} to {payee}',
  'order.repeats': 'A standing order did not pay {amount} to {payee}: it may repeat another payment',
  'deposit.reversed': 'The bank took back a payment of {amount} that you had received',
  'late.waits': 'A payment of {amount} came too late or did not fit: accept it or send it back',
  'refund.completed': 'Refund of {amount} to {payee} was paid',
  'refund.failed': 'Refund of {amount} to {payee} was not paid',
  'recall.accepted': 'Recall of {amount} from {payee}: the money comes back',
  'recall.refused': 'Recall of {amount} from {payee}: refused',
  'recall.expired': 'Recall of {amount} from {payee}: no answer in time',
  'endpoint.failing': 'Webhooks to {name} fail',
  'endpoint.disabled': 'Webhooks to {name} were disabled',
  'key.expires': 'The service account {name} expires soon',
  'key.created': 'The service account {name} was created',
  'key.rotated': 'The service account {name} got a new key',
  'key.changed': 'The service account {name} was changed',
  'key.revoked': 'The service account {name} was revoked',
  'member.joined': '{name} joined the team as {role}',
  'member.changed': '{name} has the role {role} now',
  'member.removed': '{name} was removed from the team',
  'signOn.changed': 'The single sign-on of the team was changed',
  'rule.set': 'The operator set a rule for payouts: {rule}',
  'rule.removed': 'The operator removed a rule for payouts: {rule}',
  'case.opened': 'A case waits: {kind}',
  'case.proposed': 'The decision of a case waits for a second person: {kind}',
  'alert.opened': 'An alert waits',
  'hit.opened': 'A hit waits',
  'hit.proposed': 'The decision of a hit waits for a second person',
  'change.waits': 'A change waits for a second person: {kind}',
}

const german: FactTitles = {
  'payout.waits': 'Auszahlung über {amount} an {payee} wartet auf Ihre Freigabe',
  'payout.lapses': 'Auszahlung über {amount} an {payee} wird bald storniert, wenn sie nicht freigegeben wird',
  'bulk.waits': 'Sammelzahlung mit {payouts} Auszahlungen, {amount}, wartet auf Ihre Freigabe',
  'bulk.lapses':
    'Sammelzahlung mit {payouts} Auszahlungen, {amount}, wird bald storniert, wenn sie nicht freigegeben wird',
  'signOn.waits': 'Eine Änderung der einmaligen Anmeldung wartet auf einen zweiten Admin',
  'payout.lapsed': 'Auszahlung über {amount} an {payee} wurde storniert: Sie wurde nicht rechtzeitig freigegeben',
  'payout.rejected': 'Auszahlung über {amount} an {payee} wurde abgelehnt: Sie wird nicht gesendet',
  'bulk.rejected': 'Eine Sammelzahlung wurde abgelehnt: Sie wird nicht gesendet',
  'payout.failed': 'Auszahlung über {amount} an {payee} ist fehlgeschlagen',
  'payout.returned': 'Auszahlung über {amount} an {payee} kam zurück',
  'order.failed': 'Ein Dauerauftrag konnte {amount} an {payee} nicht zahlen',
  'order.repeats':
    'Ein Dauerauftrag hat {amount} an {payee} nicht gezahlt: Er wiederholt vielleicht eine andere Zahlung',
  'deposit.reversed': 'Die Bank hat eine Zahlung über {amount} zurückgeholt, die Sie erhalten hatten',
  'late.waits': 'Eine Zahlung über {amount} kam zu spät oder passte nicht: Nehmen Sie sie an oder geben Sie sie zurück',
  'refund.completed': 'Erstattung über {amount} an {payee} wurde bezahlt',
  'refund.failed': 'Erstattung über {amount} an {payee} wurde nicht bezahlt',
  'recall.accepted': 'Rückruf von {amount} von {payee}: Das Geld kommt zurück',
  'recall.refused': 'Rückruf von {amount} von {payee}: abgelehnt',
  'recall.expired': 'Rückruf von {amount} von {payee}: keine Antwort in der Frist',
  'endpoint.failing': 'Webhooks an {name} schlagen fehl',
  'endpoint.disabled': 'Webhooks an {name} wurden abgeschaltet',
  'key.expires': 'Das Dienstkonto {name} läuft bald ab',
  'key.created': 'Das Dienstkonto {name} wurde angelegt',
  'key.rotated': 'Das Dienstkonto {name} hat einen neuen Schlüssel',
  'key.changed': 'Das Dienstkonto {name} wurde geändert',
  'key.revoked': 'Das Dienstkonto {name} wurde widerrufen',
  'member.joined': '{name} gehört jetzt zum Team: {role}',
  'member.changed': '{name} hat jetzt die Rolle {role}',
  'member.removed': '{name} wurde aus dem Team entfernt',
  'signOn.changed': 'Die einmalige Anmeldung des Teams wurde geändert',
  'rule.set': 'Der Betreiber hat eine Regel für Auszahlungen gesetzt: {rule}',
  'rule.removed': 'Der Betreiber hat eine Regel für Auszahlungen entfernt: {rule}',
  'case.opened': 'Ein Fall wartet: {kind}',
  'case.proposed': 'Die Entscheidung eines Falls wartet auf eine zweite Person: {kind}',
  'alert.opened': 'Eine Warnung wartet',
  'hit.opened': 'Ein Treffer wartet',
  'hit.proposed': 'Die Entscheidung eines Treffers wartet auf eine zweite Person',
  'change.waits': 'Eine Änderung wartet auf eine zweite Person: {kind}',
}

type GatheredTitles = Readonly<Record<GroupedType, string>>

const englishGathered: GatheredTitles = {
  'payout.waits': 'More payouts that waited for your approval: {more}',
  'payout.lapses': 'More payouts that were about to be cancelled without an approval: {more}',
  'payout.lapsed': 'More payouts that were cancelled because no one approved them in time: {more}',
  'payout.rejected': 'More payouts that were rejected: {more}',
  'payout.failed': 'More payouts that failed: {more}',
  'payout.returned': 'More payouts that came back: {more}',
  'deposit.reversed': 'More payments that the bank took back: {more}',
  'order.failed': 'More dates that a standing order could not pay: {more}',
  'order.repeats': 'More dates that a standing order did not pay, because they may repeat another payment: {more}',
  'late.waits': 'More payments that came too late or did not fit: {more}',
  'refund.completed': 'More refunds that were paid: {more}',
  'refund.failed': 'More refunds that were not paid: {more}',
  'recall.accepted': 'More recalls whose money comes back: {more}',
  'recall.refused': 'More recalls that were refused: {more}',
  'recall.expired': 'More recalls without an answer in time: {more}',
  'case.opened': 'More cases that were opened: {more}',
  'alert.opened': 'More alerts that were opened: {more}',
  'hit.opened': 'More hits that were opened: {more}',
}

const germanGathered: GatheredTitles = {
  'payout.waits': 'Weitere Auszahlungen, die auf Ihre Freigabe warteten: {more}',
  'payout.lapses': 'Weitere Auszahlungen, die ohne Freigabe bald storniert wurden: {more}',
  'payout.lapsed': 'Weitere Auszahlungen, die ohne rechtzeitige Freigabe storniert wurden: {more}',
  'payout.rejected': 'Weitere abgelehnte Auszahlungen: {more}',
  'payout.failed': 'Weitere fehlgeschlagene Auszahlungen: {more}',
  'payout.returned': 'Weitere Auszahlungen, die zurückkamen: {more}',
  'deposit.reversed': 'Weitere Zahlungen, die die Bank zurückgeholt hat: {more}',
  'order.failed': 'Weitere Termine, die ein Dauerauftrag nicht zahlen konnte: {more}',
  'order.repeats':
    'Weitere Termine, die ein Dauerauftrag nicht gezahlt hat, weil sie eine Zahlung wiederholen könnten: {more}',
  'late.waits': 'Weitere Zahlungen, die zu spät kamen oder nicht passten: {more}',
  'refund.completed': 'Weitere bezahlte Erstattungen: {more}',
  'refund.failed': 'Weitere Erstattungen, die nicht bezahlt wurden: {more}',
  'recall.accepted': 'Weitere Rückrufe, deren Geld zurückkommt: {more}',
  'recall.refused': 'Weitere abgelehnte Rückrufe: {more}',
  'recall.expired': 'Weitere Rückrufe ohne Antwort in der Frist: {more}',
  'case.opened': 'Weitere eröffnete Fälle: {more}',
  'alert.opened': 'Weitere eröffnete Warnungen: {more}',
  'hit.opened': 'Weitere eröffnete Treffer: {more}',
}

type FactWords = {
  readonly titles: FactTitles
  readonly gathered: GatheredTitles
  readonly unknown: string
  readonly reference: string
  readonly askedBy: string
  readonly until: string
  readonly chooseBy: string
  readonly lapsesAt: string
  readonly expiresAt: string
  readonly reason: string
  readonly by: string
  readonly since: string
  readonly amount: string
  readonly rules: Readonly<Record<string, string>>
}

const words: Readonly<Record<Language, FactWords>> = {
  en: {
    titles: english,
    gathered: englishGathered,
    unknown: '–',
    reference: 'Reference',
    askedBy: 'Asked for by',
    until: 'Approve before',
    chooseBy: 'Choose before',
    lapsesAt: 'Cancelled at',
    expiresAt: 'Expires',
    reason: 'Reason',
    by: 'By',
    since: 'No delivery since',
    amount: 'Amount',
    rules: { limit: 'limit', fee: 'fee', approval: 'approval', coolingOff: 'waiting time of new payees' },
  },
  de: {
    titles: german,
    gathered: germanGathered,
    unknown: '–',
    reference: 'Verwendungszweck',
    askedBy: 'Beantragt von',
    until: 'Freigeben bis',
    chooseBy: 'Wählen bis',
    lapsesAt: 'Storniert am',
    expiresAt: 'Läuft ab',
    reason: 'Grund',
    by: 'Von',
    since: 'Keine Zustellung seit',
    amount: 'Betrag',
    rules: { limit: 'Limit', fee: 'Gebühr', approval: 'Freigabe', coolingOff: 'Wartezeit neuer Empfänger' },
  },
}

const sumText = (language: Language, { amount, currency }: Money): string => {
  const decimals = amount.split('.')[1]?.length ?? 0
  const format = new Intl.NumberFormat(language, { minimumFractionDigits: decimals })
  return `${format.format(amount as Intl.StringNumericLiteral)} ${currency}`
}

const sumsText = (language: Language, amounts: readonly Money[]): string =>
  new Intl.ListFormat(language).format(amounts.map((each) => sumText(language, each)))

/** Reads the amounts of a fact, in major units. */
function factAmounts(facts: StoredFacts, details: FactDetails | undefined): readonly Money[] {
  const { amount, currency } = facts
  if (details?.amounts !== undefined) return details.amounts
  return amount && currency ? [{ amount, currency }] : []
}

/** Labels of the time until which a subject is pending. */
const deadlineFields: Readonly<Partial<Record<FactType, 'chooseBy' | 'expiresAt' | 'lapsesAt'>>> = {
  'key.expires': 'expiresAt',
  'payout.lapses': 'lapsesAt',
  'bulk.lapses': 'lapsesAt',
  'late.waits': 'chooseBy',
}

/** Describes a fact by a sentence and the details that a person needs before opening its page. */
export function describeFact(
  language: Language,
  { type, facts }: { readonly type: FactType; readonly facts: StoredFacts },
  details?: FactDetails,
): FactText {
  const w = words[language]
  const amounts = factAmounts(facts, details)
  const rule = facts['rule']
  const values: Readonly<Record<string, string | null | undefined>> = {
    amount: amounts.length === 0 ? undefined : sumsText(language, amounts),
    payee: details?.payee,
    payouts: details?.payouts?.toLocaleString(language),
    name: details?.name ?? facts['name'],
    role: facts['role'],
    rule:
      rule === null || rule === undefined ? undefined : [w.rules[rule], facts['currency']].filter(Boolean).join(' '),
    kind: details?.kind?.[language] ?? facts['kind'],
    more: facts['more'] === undefined ? undefined : Number(facts['more']).toLocaleString(language),
  }
  const sentence = isGroupedType(type) && 'more' in facts ? w.gathered[type] : w.titles[type]
  const title = sentence.replaceAll(/\{(\w+)\}/g, (_all, key: string) => values[key] ?? w.unknown)
  const { since = null, by } = facts
  const until = deadlineFields[type] ?? 'until'
  const lines: (readonly [string, string | Date | null | undefined])[] = [
    [w.amount, sentence.includes('{amount}') ? undefined : values['amount']],
    [w.reference, details?.reference],
    [w.askedBy, details?.askedBy],
    [w[until], details?.until],
    [w.reason, details?.reason ?? facts['reason']],
    [w.since, since === null ? undefined : new Date(since)],
    [w.by, by],
  ]
  return {
    title,
    lines: lines.flatMap(([label, value]) =>
      value === null || value === undefined || value === '' ? [] : [[label, value]],
    ),
  }
}
