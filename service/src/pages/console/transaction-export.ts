/** The transactions of a list as a CSV file (RFC 4180): read page by page through the operation that lists them, and bounded. */
import { decimalText, type ResponseOf } from '@partner-payments/wire'
import { csvCell } from '../../kernel/index.ts'

type Transaction = ResponseOf<'getTransaction'>
type Page = { readonly data: readonly Transaction[]; readonly nextCursor: string | null }

export const exportRowsMax = 5000
/** The longest page that the operation has. */
export const exportPageRows = '100'

const columns: readonly (readonly [string, (row: Transaction) => string | undefined])[] = [
  ['userReference', (row) => row.userReference],
  ['reference', (row) => row.reference],
  ['category', (row) => row.category],
  ['type', (row) => row.type],
  ['direction', (row) => row.direction],
  ['status', (row) => row.status],
  ['amount', (row) => decimalText(row.amount)],
  ['currency', (row) => row.currency],
  [
    'party',
    ({ direction, debtorDetails, creditorDetails }) =>
      (direction === 'Inward' ? debtorDetails : creditorDetails)?.accountHolderName,
  ],
  ['endToEndId', (row) => row.endToEndId],
  ['customer', ({ partnerUser }) => partnerUser?.name ?? partnerUser?.email],
  ['customerId', ({ partnerUser }) => partnerUser?.id],
  ['createdAt', (row) => row.createdAt],
  ['updatedAt', (row) => row.updatedAt],
]

const line = (cells: readonly string[]): string => `${cells.map(csvCell).join(',')}\r\n`

/** Undefined: there are more rows than a file may have. Nothing is cut off in silence. */
export async function transactionsCsv(
  read: (cursor: string | undefined) => Promise<Page>,
): Promise<string | undefined> {
  const lines = [line(columns.map(([name]) => name))]
  let cursor: string | undefined
  do {
    const { data, nextCursor } = await read(cursor)
    for (const row of data) lines.push(line(columns.map(([, textOf]) => textOf(row) ?? '')))
    if (lines.length > exportRowsMax + 1) return undefined
    // With `updatedSince` the last page has a cursor too, for changes to come.
    cursor = data.length === 0 ? undefined : (nextCursor ?? undefined)
  } while (cursor !== undefined)
  return lines.join('')
}
