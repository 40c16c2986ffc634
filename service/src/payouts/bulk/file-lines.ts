/** Pure: the payments of a pain.001 as lines that people check and correct. */
import { MessageProblem } from '../../iso20022/index.ts'
import { amountText, isCurrency } from '../../kernel/index.ts'
import {
  readAccountFields,
  type UnsupportedRequest,
  findUnsupportedRequest,
  noEndToEndId,
  type Pain001Payment,
  paymentsMax,
  readBytes,
  remittanceText,
} from './from-file.ts'
import type { Pain001Fields, TypedLine } from './lines.ts'

export type Pain001Lines =
  | { readonly kind: 'lines'; readonly messageId: string; readonly lines: readonly TypedLine[] }
  /** Place and English reason why the file is not a pain.001. */
  | { readonly kind: 'unreadable'; readonly line: number; readonly path: string; readonly reason: string }
  | { readonly kind: 'many'; readonly count: number }
  /** Payments with requests that payouts do not support. */
  | { readonly kind: 'mistakes'; readonly mistakes: readonly (UnsupportedRequest & { readonly line: number })[] }

/** Reads the lines of a pain.001. A line has the number of its payment in the file, from 1. `today`: `YYYY-MM-DD`. */
export async function readPain001Lines(bytes: Uint8Array, today: string): Promise<Pain001Lines> {
  try {
    const { messageId, batches } = await readBytes(bytes)
    const payments = batches.flatMap((batch) =>
      batch.transfers.map((transfer): Pain001Payment => ({ batch, transfer })),
    )
    if (payments.length > paymentsMax) return { kind: 'many', count: payments.length }
    const mistakes = payments.flatMap((payment, index) => {
      const mistake = findUnsupportedRequest(payment, today)
      return mistake === undefined ? [] : [{ ...mistake, line: index + 1 }]
    })
    if (mistakes.length > 0) return { kind: 'mistakes', mistakes }
    return { kind: 'lines', messageId, lines: payments.map(({ transfer }, index) => toTypedLine(transfer, index + 1)) }
  } catch (error) {
    if (!(error instanceof MessageProblem)) throw error
    const { line, path, message: reason } = error
    return { kind: 'unreadable', line, path, reason }
  }
}

function toTypedLine(transfer: Pain001Payment['transfer'], line: number): TypedLine {
  const { creditor, creditorAgent, creditorAccountType, endToEndId, money } = transfer
  const { iban = '', sortCode = '', routingNumber = '', accountNumber = '' } = readAccountFields(transfer)?.fields ?? {}
  const cells = {
    ...{ payee: '', name: creditor.name ?? '', iban, sortCode, routingNumber, accountNumber },
    amount: isCurrency(money.currency) ? amountText(money.minor, money.currency) : '',
    ...{ currency: money.currency, reference: remittanceText(transfer) ?? '' },
  }
  const file: Pain001Fields = {
    ...(endToEndId === noEndToEndId ? {} : { endToEndId }),
    ...(creditorAgent?.bic === undefined ? {} : { bic: creditorAgent.bic }),
    ...(creditorAccountType === undefined ? {} : { accountType: creditorAccountType }),
    ...(creditor.address === undefined ? {} : { address: creditor.address }),
  }
  return { line, cells, file }
}
