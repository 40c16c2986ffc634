/** Pure: the counterparty of a payment, as the bank reports it. */
import type { AccountId, EntryDetail, Party, PostalAddress } from '../../iso20022/index.ts'
import type { IncomingDebtor } from '../../rails/index.ts'

export type Counterparty = {
  readonly name: string | null
  readonly account: string | null
  readonly bic: string | null
  readonly country: string | null
  readonly address: string | null
  /** Birth data and ids of the party. Absent: the bank gives none, and in entries of earlier versions. */
  readonly identification?: string
  /** Names the party on whose behalf the other one pays or is paid. Absent: the bank names none. */
  readonly onBehalfOf?: string
}

const ibanForm = /^[A-Z]{2}\d{2}/

export function counterpartyOf(detail: EntryDetail | undefined, isCredit: boolean): Counterparty {
  const [named, ultimate] = isCredit
    ? [detail?.debtor, detail?.ultimateDebtor]
    : [detail?.creditor, detail?.ultimateCreditor]
  const party = named ?? ultimate
  const identification = identificationOf(party)
  const onBehalfOf = named === undefined || ultimate?.name === named.name ? undefined : ultimate?.name
  const account = textOfAccount(isCredit ? detail?.debtorAccount : detail?.creditorAccount)
  const agent = isCredit ? detail?.debtorAgent : detail?.creditorAgent
  const ofIban = account !== null && ibanForm.test(account) ? account.slice(0, 2) : null
  return {
    name: party?.name ?? null,
    account,
    bic: agent?.bic ?? null,
    country: ofIban ?? party?.address?.country ?? null,
    address: party?.address === undefined ? null : addressLine(party.address),
    ...(identification === '' ? {} : { identification }),
    ...(onBehalfOf === undefined ? {} : { onBehalfOf }),
  }
}

/** Birth data, LEI and other ids, as one text. */
function identificationOf(party: Party | undefined): string {
  const { birth, lei, bic, others = [] } = party?.id ?? {}
  const born = birth === undefined ? [] : [`born ${birth.date} in ${birth.city}, ${birth.country}`]
  return [...born, lei, bic, ...others.map(({ id }) => id)].filter((text) => text !== undefined).join(', ')
}

const textOfAccount = (account: AccountId | undefined): string | null =>
  account === undefined ? null : 'iban' in account ? account.iban.replaceAll(' ', '').toUpperCase() : account.other

function addressLine(address: PostalAddress): string | null {
  const { street, buildingNumber, buildingName, postBox, postCode, town, country, lines = [] } = address
  const parts = [
    [street, buildingNumber],
    [buildingName],
    [postBox],
    ...lines.map((line) => [line]),
    [postCode, town],
    [country],
  ]
  const text = parts
    .map((words) => words.filter((word) => word !== undefined && word !== '').join(' '))
    .filter((part) => part !== '')
    .join(', ')
  return text === '' ? null : text
}

export const debtorOf = ({ name, account, bic, country, address, ...more }: Counterparty): IncomingDebtor => ({
  ...more,
  account: account ?? '',
  bic: bic ?? '',
  name: name ?? '',
  countryCode: country ?? '',
  address,
})
