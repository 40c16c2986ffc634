/** Pure: finds the payee of each line of a file: a saved payee, a new one, a question to the person, or none. */
import type { BodyOf } from '@partner-payments/wire'
import { isUuid, type Currency } from '../../kernel/index.ts'
import type { Beneficiary } from '../../parties/beneficiaries/index.ts'
import { compareNames } from '../../parties/payee-check/index.ts'
import type { AccountFields, LinePayee, ParsedLine } from './lines.ts'

/**
 * `payeeOtherAccount`: the line has another account than the payee. `payeeCurrency`: the payee with this account or
 * name takes another currency. `payeeOtherAddress`, `payeeOtherType`: a pain.001 contradicts the payee's address or
 * type of account.
 */
type PayeeProblem = 'payeeUnknown' | 'payeeOtherAccount' | 'payeeCurrency' | 'payeeOtherAddress' | 'payeeOtherType'

/** Payee in a file that is not saved. Equal payees have one `key`. */
export type NewPayee = {
  readonly key: string
  readonly name: string
  readonly account: string
  readonly fields: AccountFields
  readonly currency: Currency
  /** Fields that only a pain.001 has. */
  readonly more: Pick<BodyOf<'createBeneficiary'>, 'bic' | 'accountType' | 'address'>
}

export type ResolvedPayee =
  | { readonly kind: 'saved'; readonly payee: Beneficiary }
  | { readonly kind: 'new'; readonly payee: NewPayee }
  /** `name`: payees with this account have other names. `several`: more than one payee has the name. */
  | { readonly kind: 'question'; readonly about: 'name' | 'several'; readonly options: readonly Beneficiary[] }
  | { readonly kind: 'problem'; readonly code: PayeeProblem; readonly currencies?: readonly string[] }

export type PayeeIndex = {
  /** Payees by the text of their account. */
  readonly byAccount: ReadonlyMap<string, readonly Beneficiary[]>
  readonly byText: (text: string) => readonly Beneficiary[]
}

const accountOf = ({ iban, domesticAccount }: Beneficiary): string => iban ?? domesticAccount ?? ''

/** Indexes payees by id, alias and name. A customer's payee is found only by its id, because its payouts belong to the customer. */
export function indexPayees(withAccounts: readonly Beneficiary[], withTexts: readonly Beneficiary[]): PayeeIndex {
  const own = withTexts.filter(({ customerId }) => customerId === null)
  const ids = Map.groupBy(withTexts, ({ id }) => id)
  const aliases = Map.groupBy(own, ({ alias }) => alias?.toLowerCase() ?? '')
  const names = Map.groupBy(own, ({ name }) => name.toLowerCase())
  const byText = (text: string): readonly Beneficiary[] => {
    const folded = text.toLowerCase()
    if (isUuid(folded)) return ids.get(folded) ?? []
    return aliases.get(folded) ?? names.get(folded) ?? []
  }
  return { byAccount: Map.groupBy(withAccounts, accountOf), byText }
}

/** Finds the payee of a line. `choice`: the id of the chosen payee, or `new`. A choice that does not fit the question is ignored. */
export function resolvePayee(
  { payee, currency }: Pick<ParsedLine, 'payee' | 'currency'>,
  known: PayeeIndex,
  choice: string | undefined,
): ResolvedPayee {
  return 'text' in payee
    ? resolveByName(payee, currency, known, choice)
    : resolveByAccount(payee, currency, known, choice)
}

type NamedPayee = Extract<LinePayee, { readonly text: string }>
type PayeeByAccount = Exclude<LinePayee, NamedPayee>

function resolveByAccount(
  line: PayeeByAccount,
  currency: Currency,
  { byAccount }: PayeeIndex,
  choice: string | undefined,
): ResolvedPayee {
  const options = (byAccount.get(line.account) ?? []).filter((payee) => payee.currency === currency)
  const payee = options.find(({ id }) => id === choice)
  if (payee !== undefined) return { kind: 'saved', payee }
  const same = options.find(({ name }) => compareNames(line.name, name) === 'Match')
  if (same !== undefined) return { kind: 'saved', payee: same }
  if (options.length > 0 && choice !== 'new') return { kind: 'question', about: 'name', options }
  const key = JSON.stringify([line.account, currency, line.name.toLowerCase()])
  return { kind: 'new', payee: { ...line, key, currency, more: {} } }
}

function resolveByName(
  { text, account }: NamedPayee,
  currency: Currency,
  { byText }: PayeeIndex,
  choice: string | undefined,
): ResolvedPayee {
  const found = byText(text).filter((payee) => payee.walletAddress === null)
  if (found.length === 0) return { kind: 'problem', code: 'payeeUnknown' }
  const atIt = account === undefined ? found : found.filter((payee) => accountOf(payee) === account)
  if (atIt.length === 0) return { kind: 'problem', code: 'payeeOtherAccount' }
  const options = atIt.filter((payee) => payee.currency === currency)
  if (options.length === 0)
    return { kind: 'problem', code: 'payeeCurrency', currencies: [...new Set(atIt.map((payee) => payee.currency))] }
  const [only, ...others] = options
  const payee = others.length === 0 ? only : options.find(({ id }) => id === choice)
  return payee === undefined ? { kind: 'question', about: 'several', options } : { kind: 'saved', payee }
}
