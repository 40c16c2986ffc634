/** Files of payments, as a partner's accounting writes them. */
import { type CreditTransfer, pain001Xml, type PaymentBatch } from '../../service/src/iso20022/index.ts'

export type FilePayment = Partial<CreditTransfer> & {
  readonly minor: bigint
  readonly iban?: string
  readonly text?: string
}

/** A pain.001.001.09 of the day of `createdAt`. By default to the account of the beneficiaries of tests. */
export function pain001Text(
  messageId: string,
  payments: readonly FilePayment[],
  { createdAt = new Date(), ...batch }: Partial<PaymentBatch> & { readonly createdAt?: Date } = {},
): string {
  const transfers = payments.map(
    ({ minor, iban = 'DE89370400440532013000', text, ...more }, index): CreditTransfer => ({
      endToEndId: `E2E-${index + 1}`,
      money: { minor, currency: 'EUR' },
      creditor: { name: 'Grace Hopper' },
      creditorAccount: { iban },
      ...(text === undefined ? {} : { remittance: { unstructured: [text] } }),
      ...more,
    }),
  )
  const own: PaymentBatch = {
    id: 'BATCH-1',
    serviceLevel: 'SEPA',
    executionDate: createdAt.toISOString().slice(0, 10),
    debtor: { name: 'Example Ltd' },
    debtorAccount: { iban: 'NL91ABNA0417164300' },
    debtorAgent: { bic: 'ABNANL2AXXX' },
    transfers,
    ...batch,
  }
  return [...pain001Xml({ messageId, createdAt, initiator: { name: 'Example Ltd' }, batches: [own] })].join('')
}
