/** Arbitrary account reports: camt.052, camt.053 and camt.054. */
import fc from 'fast-check'
import type {
  BankEntry,
  Charge,
  EntryDetail,
  EntryTotals,
  ReportHead,
  ReportPart,
  StatementHead,
} from '../../service/src/iso20022/index.ts'
import {
  account,
  agent,
  amount,
  code,
  day,
  dayOrTime,
  hasAny,
  party,
  plain,
  reason,
  record,
  reference,
  remittance,
  text,
  time,
  uetr,
} from './iso-values.ts'

const charge = record<Charge>(
  { amount, isCredit: fc.boolean(), isIncluded: fc.boolean(), type: code(), bearer: fc.constantFrom('SHAR', 'DEBT') },
  ['amount'],
)
const exchanged = record<NonNullable<NonNullable<EntryDetail['amounts']>['instructed']>>(
  {
    amount,
    exchange: record<NonNullable<NonNullable<NonNullable<EntryDetail['amounts']>['instructed']>['exchange']>>(
      {
        sourceCurrency: fc.constantFrom('EUR', 'CHF'),
        targetCurrency: fc.constantFrom('EUR', 'USD'),
        unitCurrency: fc.constantFrom('EUR'),
        rate: fc.constantFrom('1.0825', '0.9'),
      },
      ['sourceCurrency', 'rate'],
    ),
  },
  ['amount'],
)
const amounts = record<NonNullable<EntryDetail['amounts']>>({
  instructed: exchanged,
  transaction: exchanged,
  counterValue: exchanged,
}).filter(hasAny)

const codes: fc.Arbitrary<BankEntry['codes']> = fc
  .tuple(
    fc.constantFrom({}, { domain: 'PMNT', family: 'RCDT', subFamily: 'ESCT' }),
    fc.constantFrom({}, { proprietary: 'NTRF+166' }, { proprietary: 'NTRF+166', proprietaryIssuer: 'DK' }),
  )
  .map(([listed, own]) => ({ ...listed, ...own }))
const references = record<EntryDetail['references']>({
  messageId: reference(),
  bankReference: reference(),
  batchId: reference(),
  instructionId: reference(),
  endToEndId: reference(),
  uetr,
  transactionId: reference(),
  mandateId: reference(),
  chequeNumber: reference(),
  clearingReference: reference(),
  accountOwnerId: reference(),
  servicerTransactionId: reference(),
  marketId: reference(),
  processingId: reference(),
  others: fc.array(plain({ type: reference(), reference: reference() }), { minLength: 1, maxLength: 2 }),
})
const charges = fc.array(charge, { maxLength: 2 })

const detail = record<EntryDetail>(
  {
    references,
    amount,
    amounts,
    isCredit: fc.boolean(),
    codes,
    charges,
    chargesTotal: amount,
    initiator: party(text),
    debtor: party(text),
    debtorAccount: account,
    debtorAgent: agent(text),
    ultimateDebtor: party(text),
    creditor: party(text),
    creditorAccount: account,
    creditorAgent: agent(text),
    ultimateCreditor: party(text),
    remittance: remittance(text),
    purpose: code(),
    returned: reason,
    acceptedAt: time,
    settlementDate: day,
    information: text(500),
  },
  // Without an amount of its own, a payment takes that of its details.
  ['references', 'charges', 'amount'],
)
const entry = record<Omit<BankEntry, 'problem'>>(
  {
    reference: reference(),
    amount,
    isCredit: fc.boolean(),
    isReversal: fc.boolean(),
    status: fc.constantFrom('BOOK', 'PDNG', 'INFO', 'FUTR'),
    bookingDate: dayOrTime,
    valueDate: dayOrTime,
    bankReference: reference(),
    codes,
    charges,
    chargesTotal: amount,
    amounts,
    batches: fc.array(
      record<BankEntry['batches'][number]>({
        messageId: reference(),
        batchId: reference(),
        count: fc.nat(1000),
        sum: amount,
        isCredit: fc.boolean(),
      }).filter(hasAny),
      { maxLength: 2 },
    ),
    detailsIn: record<NonNullable<BankEntry['detailsIn']>>({ messageName: reference(), messageId: reference() }).filter(
      hasAny,
    ),
    details: fc.array(detail, { maxLength: 2 }),
    information: text(500),
  },
  ['amount', 'isCredit', 'isReversal', 'status', 'codes', 'charges', 'batches', 'details'],
)

const page = plain({ number: fc.constantFrom('1', '2'), isLast: fc.boolean() })
const decimal = fc.constantFrom('0.00', '12.50', '1000000.5')
const totals = record<EntryTotals>({
  count: fc.nat(1000),
  sum: decimal,
  net: decimal,
  netIsCredit: fc.boolean(),
  creditCount: fc.nat(1000),
  creditSum: decimal,
  debitCount: fc.nat(1000),
  debitSum: decimal,
})
  .filter(hasAny)
  .map(({ netIsCredit, ...found }) =>
    found.net === undefined ? found : { ...found, netIsCredit: netIsCredit ?? true },
  )
  .filter(hasAny)
const balance = record<StatementHead['balances'][number]>(
  {
    type: code(),
    subType: code(),
    creditLines: fc.array(plain({ isIncluded: fc.boolean(), amount }), { maxLength: 1 }),
    amount,
    isCredit: fc.boolean(),
    date: dayOrTime,
  },
  ['type', 'creditLines', 'amount', 'isCredit', 'date'],
)
const period = fc.constantFrom({}, { from: '2026-11-01T00:00:00+01:00', to: '2026-11-30T23:59:59+01:00' })
const statement = (hasBalances: boolean): fc.Arbitrary<StatementHead> =>
  fc
    .tuple(
      record<Omit<StatementHead, 'from' | 'to'>>(
        {
          id: reference(),
          electronicSequence: fc.constantFrom('1', '312'),
          legalSequence: fc.constantFrom('1', '312'),
          page,
          createdAt: time,
          copy: fc.constantFrom('DUPL', 'COPY'),
          account: record<StatementHead['account']>(
            {
              id: account,
              currency: fc.constantFrom('EUR'),
              name: text(70),
              owner: party(text),
              servicer: agent(text),
            },
            ['id'],
          ),
          balances: fc.array(balance, hasBalances ? { minLength: 1, maxLength: 3 } : { maxLength: 0 }),
          totals,
        },
        ['id', 'account', 'balances'],
      ),
      period,
    )
    .map(([fields, dates]) => ({ ...fields, ...dates }))

const head = record<Omit<ReportHead, 'kind' | 'version'>>(
  { messageId: reference(), createdAt: time, recipient: party(text), page, information: text(500) },
  ['messageId', 'createdAt'],
)
const statementParts = (hasBalances: boolean): fc.Arbitrary<readonly ReportPart[]> =>
  fc
    .tuple(
      statement(hasBalances),
      fc.array(entry, { maxLength: 3 }),
      fc.oneof(fc.constant({}), plain({ information: text(500) })),
    )
    .map(([found, entries, information]) => [
      { kind: 'statement', statement: found },
      ...entries.map((one) => ({ kind: 'entry', entry: one }) as const),
      { kind: 'statement end', entries: entries.length, ...information },
    ])

/** The parts of a whole message. */
export const report: fc.Arbitrary<readonly ReportPart[]> = fc
  .constantFrom('camt.052' as const, 'camt.053' as const, 'camt.054' as const)
  .chain((kind) =>
    fc
      .tuple(head, fc.array(statementParts(kind !== 'camt.054'), { minLength: 1, maxLength: 2 }))
      .map(([fields, statements]) => [
        { kind: 'head', head: { kind, version: '08', ...fields } },
        ...statements.flat(),
      ]),
  )
