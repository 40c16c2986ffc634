/** The CSV file of transactions, and the amounts in its filters. */
import { decimalText, type ResponseOf } from '@partner-payments/wire'
import type { PublicAnswer, PublicRequest } from '../../kernel/api/index.ts'
import type { FieldValues } from '../kit/forms.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { consoleTexts } from '../kit/language.ts'
import { accountText, wordFor } from '../kit/parts.ts'
import { queryText, readQuery, readTypedAmounts, withTimes } from '../kit/request.ts'
import { type Columns, writeCsv, sendCsv, exportPageRows } from './list-export.ts'
import { callOf, type Frame, type Person } from './request.ts'
import { texts } from './texts/index.ts'

type Transaction = ResponseOf<'getTransaction'>

type ExportRow = Transaction & { readonly fee?: Fee | undefined }

type Fee = { readonly amount: string; readonly currency: string }

function exportColumns({ language }: ConsoleView): Columns<ExportRow> {
  const p = texts[language].payments
  return [
    [p.userReference, (row) => row.userReference],
    [p.serviceReference, (row) => row.reference],
    [p.endToEndId, (row) => row.endToEndId],
    [p.websiteReference, (row) => row.websiteReference],
    [p.kind, (row) => wordFor(p.category, row.category)],
    [p.type, (row) => wordFor(p.transactionType, row.type)],
    [p.direction, (row) => wordFor(p.directions, row.direction)],
    [p.status, (row) => wordFor(consoleTexts[language].transactionStatus, row.status)],
    [p.amount, (row) => ({ amount: decimalText(row.amount) })],
    [p.currency, (row) => row.currency],
    [p.fee, (row) => row.fee && { amount: row.fee.amount }],
    [p.feeCurrency, (row) => row.fee?.currency],
    [p.rail, (row) => row.rail && wordFor(p.rails, row.rail)],
    [p.party, (row) => otherParty(row)?.accountHolderName],
    [p.otherAccount, (row) => accountText(otherParty(row) ?? {})],
    [p.bic, (row) => otherParty(row)?.bic],
    [p.customer, ({ partnerUser }) => partnerUser?.name ?? partnerUser?.email],
    [p.customerId, ({ partnerUser }) => partnerUser?.id],
    [p.createdUtc, (row) => ({ at: row.createdAt })],
    [p.updatedUtc, (row) => ({ at: row.updatedAt })],
  ]
}

/** Converts the amounts of the filters from the format in which people type them to that of the operation. */
export function amountQuery({ language }: ConsoleView, values: Partial<FieldValues>): Partial<FieldValues> {
  const { amount, amountMin, amountMax, ...rest } = values
  const thousands = language === 'de' ? '.' : ','
  const plain = (text: string | undefined) => {
    const { amounts } = readTypedAmounts(text ?? '')
    return (text?.includes(thousands) === true ? amounts[0] : amounts.at(-1)) ?? text
  }
  return { ...rest, amount: plain(amount), amountMin: plain(amountMin), amountMax: plain(amountMax) }
}

/** Sends the filtered transactions as a CSV file. */
export async function exportTransactions(
  frame: Frame,
  request: PublicRequest,
  person: Person,
  filters: readonly string[],
): Promise<PublicAnswer> {
  const { operate, payouts } = frame
  const { view, caller } = person
  const values = readQuery(request, filters)
  const call = callOf(person, request)
  const mayPayouts = caller.permissions.includes('payouts:read')
  const read = async (cursor: string | undefined) => {
    const query = `${queryText({ ...amountQuery(view, withTimes(values)), cursor })}&limit=${exportPageRows}`
    const found = await operate('listTransactions', { ...call, query })
    const paid = mayPayouts ? found.data.filter(({ category }) => category === 'Withdrawal') : []
    const fees = await payouts.feesOf(caller.partnerId, paid)
    return { ...found, data: found.data.map((row): ExportRow => ({ ...row, fee: fees.get(row.reference) })) }
  }
  const make = () => writeCsv(view.language, exportColumns(view), read)
  return sendCsv(request, view, { list: 'transactions', values, filters, make })
}

export const otherParty = ({ direction, creditorDetails, debtorDetails }: Transaction) =>
  direction === 'Inward' ? debtorDetails : creditorDetails
