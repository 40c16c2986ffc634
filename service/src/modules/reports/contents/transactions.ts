/** The transactions created in a period with every field of the interface document, as they stood at its end. */
import { toTransaction, type Transactions } from '../../transactions/index.ts'
import type { Columns, Content, Head, Row } from './content.ts'

const party = (prefix: string): Columns => ({
  [`${prefix}Name`]: 'text',
  [`${prefix}Iban`]: 'text',
  [`${prefix}Bic`]: 'text',
  [`${prefix}BankName`]: 'text',
  [`${prefix}Address`]: 'text',
  [`${prefix}Country`]: 'text',
  [`${prefix}WalletAddress`]: 'text',
})

const fields = {
  reference: 'text',
  amount: 'number',
  currency: 'plain',
  userAmount: 'number',
  userCurrency: 'plain',
  category: 'plain',
  direction: 'plain',
  method: 'plain',
  partyType: 'plain',
  status: 'plain',
  type: 'plain',
  errorKey: 'plain',
  rail: 'plain',
  hasFx: 'plain',
  fxQuoteExpiryTime: 'plain',
  createdAt: 'plain',
  updatedAt: 'plain',
  endToEndId: 'text',
  sessionId: 'text',
  websiteReference: 'text',
  userReference: 'text',
  idempotencyKey: 'text',
  description: 'text',
  beneficiaryId: 'plain',
  beneficiaryAlias: 'text',
  transactionHash: 'plain',
} as const satisfies Columns

const columns: Columns = {
  ...fields,
  ...party('creditor'),
  ...party('debtor'),
  partnerUserId: 'text',
  partnerUserName: 'text',
  partnerUserIpAddress: 'text',
  timeline: 'text',
  // After the columns of earlier versions: readers by position continue.
  partnerUserEmail: 'text',
  partnerUserAddress: 'text',
  partnerUserCountryCode: 'plain',
  /** The whole transaction, for formats with structure. */
  transaction: 'json',
}

const partyRow = (prefix: string, details: Readonly<Record<string, string>> | undefined): Row =>
  details === undefined
    ? {}
    : Object.fromEntries(
        Object.entries({ ...details, name: details['accountHolderName'] ?? '' })
          .filter(([name]) => name !== 'accountHolderName')
          .map(([name, value]) => [`${prefix}${name.charAt(0).toUpperCase()}${name.slice(1)}`, value]),
      )

export function transactions(
  { asOf, withUsers }: Pick<Transactions, 'asOf' | 'withUsers'>,
  partnerId: string,
  head: Head,
  reached: (moment: Date) => void,
): Content {
  const { from, to } = head.period
  const filter = { partnerId, from, to, customerId: head.customer?.id ?? null, currency: head.currency }
  const rows = async function* rows(): AsyncGenerator<readonly Row[]> {
    for await (const page of asOf(filter)) {
      const last = page.at(-1)
      if (last) reached(last.row.createdAt)
      yield (await withUsers(page)).map((shown) => transactionRow(toTransaction(shown)))
    }
  }
  return { head, columns, sections: [], rows }
}

function transactionRow(transaction: ReturnType<typeof toTransaction>): Row {
  const { creditorDetails, debtorDetails, partnerUser, timeline } = transaction
  const row: Record<string, string> = {}
  for (const [name, value] of Object.entries(transaction))
    if (Object.hasOwn(fields, name) && value !== undefined)
      row[name] = typeof value === 'string' ? value : JSON.stringify(value)
  return {
    ...row,
    ...partyRow('creditor', creditorDetails as Readonly<Record<string, string>> | undefined),
    ...partyRow('debtor', debtorDetails as Readonly<Record<string, string>> | undefined),
    ...(partnerUser && {
      partnerUserId: partnerUser.id ?? '',
      partnerUserName: partnerUser.name ?? '',
      partnerUserIpAddress: partnerUser.ipAddress ?? '',
      partnerUserEmail: partnerUser.email ?? '',
      partnerUserAddress: partnerUser.address ?? '',
      partnerUserCountryCode: partnerUser.countryCode ?? '',
    }),
    timeline: timeline.map(({ createdAt, step }) => `${createdAt} ${step}`).join('; '),
    transaction: JSON.stringify(transaction),
  }
}
