/** Arbitrary values of the messages: of the guideline's subset for what is paid, of the standard for what banks say. */
import fc from 'fast-check'
import type {
  AccountId,
  Agent,
  Amount,
  Code,
  CreditTransfer,
  CreditTransferInitiation,
  Party,
  PaymentBatch,
  PostalAddress,
  Reason,
  Recall,
  RecallAnswer,
  Remittance,
  StatusReport,
} from '../../service/src/iso20022/index.ts'

type Fields<T> = { [Key in keyof T]-?: fc.Arbitrary<Exclude<T[Key], undefined>> }
/** A record whose optional fields may be absent. */
export const record = <T>(all: Fields<T>, needed: readonly (keyof T & string)[] = []): fc.Arbitrary<T> =>
  fc.record(all as never, { requiredKeys: needed as never[], noNullPrototype: true }) as fc.Arbitrary<T>
/** A record that has all its fields. */
export const plain = <T extends object>(all: { [Key in keyof T]: fc.Arbitrary<T[Key]> }): fc.Arbitrary<T> =>
  fc.record(all, { noNullPrototype: true }) as fc.Arbitrary<T>
/** Fields that have one arbitrary value. */
const fields = <Value, Name extends string>(value: Value, ...names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, value])) as Readonly<Record<Name, Value>>
export const hasAny = (value: object): boolean => Object.keys(value).length > 0

const sepaCharacters = Array.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-?:().,'+")
const sepaUnit = fc.constantFrom(...sepaCharacters)
/** The characters of SEPA, and slashes and spaces within. */
export const sepa = (charsMax: number): fc.Arbitrary<string> =>
  fc
    .tuple(
      sepaUnit,
      fc.string({ unit: fc.constantFrom(...sepaCharacters, ' ', '/'), maxLength: charsMax - 2 }),
      sepaUnit,
    )
    .map((parts) => parts.join(''))
export const reference = (charsMax = 35): fc.Arbitrary<string> =>
  sepa(charsMax).map((text) => text.replaceAll('/', '-'))

/** Characters of XML, without spaces at the ends and without those that a document cannot have. */
const anyUnit = fc.oneof(
  fc.constantFrom(...sepaCharacters, ...Array.from(`&<>"'äßŁ€汉😀]\r\n\t `)),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((text) => !/[\p{Cc}\p{Cs}\ufffe\uffff]/u.test(text)),
)
export const text = (charsMax: number): fc.Arbitrary<string> =>
  fc
    .tuple(sepaUnit, fc.string({ unit: anyUnit, maxLength: charsMax - 2 }), sepaUnit)
    .map((parts) => parts.join(''))
    .filter((found) => Array.from(found).length <= charsMax)

const digits = (count: number) =>
  fc.string({ unit: fc.constantFrom(...Array.from('0123456789')), minLength: count, maxLength: count })
const letters = (count: number) =>
  fc.string({ unit: fc.constantFrom(...Array.from('ABCDEFGHIJ')), minLength: count, maxLength: count })
const country = fc.constantFrom('DE', 'NL', 'AT', 'CH', 'LT', 'FI', 'FR')
const iban = fc.tuple(country, digits(2), digits(16)).map((parts) => parts.join(''))
const bic = fc.tuple(letters(4), country, letters(2), fc.constantFrom('', 'XXX')).map((parts) => parts.join(''))
const lei = fc.tuple(letters(18), digits(2)).map((parts) => parts.join(''))
export const uetr = fc.uuid({ version: 4 })
export const money = plain({
  currency: fc.constantFrom('EUR' as const, 'GBP' as const, 'USD' as const),
  minor: fc.bigInt(1n, 999_999_999_999_99n),
})
const foreign = plain({
  currency: fc.constantFrom('CHF', 'JPY', 'SEK', 'KWD'),
  minor: fc.constant(null),
  text: fc.tuple(fc.nat(1_000_000), fc.constantFrom('', '.5', '.50', '.125')).map((parts) => parts.join('')),
})
export const amount: fc.Arbitrary<Amount> = fc.oneof({ weight: 4, arbitrary: money }, { weight: 1, arbitrary: foreign })
const lastDay = new Date('2039-12-31T23:59:59.999Z')
export const moment = fc.date({ min: new Date('2000-01-01T00:00:00.000Z'), max: lastDay, noInvalidDate: true })
export const day = moment.map((at) => at.toISOString().slice(0, 10))
export const time = fc
  .tuple(moment, fc.constantFrom('Z', '+02:00', '-11:30', ''))
  .map(([at, zone]) => at.toISOString().slice(0, 19) + zone)
export const dayOrTime = fc.oneof(day, time)
export const code = (chars = 4): fc.Arbitrary<Code> =>
  fc.oneof(plain({ code: letters(chars) }), plain({ proprietary: reference() }))

/** The texts of a message: the characters of SEPA, or any. */
export type Texts = (charsMax: number) => fc.Arbitrary<string>
const otherId = record<{ id: string; scheme?: Code; issuer?: string }>(
  { id: reference(), scheme: code(), issuer: reference() },
  ['id'],
)
const address = (texts: Texts): fc.Arbitrary<PostalAddress> =>
  record<PostalAddress>(
    {
      ...fields(texts(70), 'department', 'subDepartment', 'street', 'floor', 'roomNumber'),
      ...fields(texts(35), 'buildingName', 'town', 'townLocation', 'district', 'countrySubdivision'),
      ...fields(texts(16), 'buildingNumber', 'postBox', 'postCode'),
      country,
      lines: fc.array(texts(70), { minLength: 1, maxLength: 2 }),
    },
    ['town', 'country'],
  )
const identification: fc.Arbitrary<NonNullable<Party['id']>> = fc.oneof(
  record<{ bic?: string; lei?: string; others?: NonNullable<Party['id']>['others'] & object }>({
    bic,
    lei,
    others: fc.array(otherId, { minLength: 1, maxLength: 2 }),
  })
    .filter(hasAny)
    .map((id) => ({ kind: 'organisation' as const, ...id })),
  record<Pick<NonNullable<Party['id']>, 'birth' | 'others'>>({
    birth: record<NonNullable<NonNullable<Party['id']>['birth']>>(
      { date: day, province: reference(), city: reference(), country },
      ['date', 'city', 'country'],
    ),
    others: fc.array(otherId, { minLength: 1, maxLength: 2 }),
  })
    .filter(hasAny)
    .map((id) => ({ kind: 'private' as const, ...id })),
)
export const party = (texts: Texts): fc.Arbitrary<Party> =>
  record<Party>({ name: texts(70), address: address(texts), id: identification, residence: country }, ['name'])
export const agent = (texts: Texts): fc.Arbitrary<Agent> =>
  fc
    .tuple(
      record<Omit<Agent, 'clearingSystem' | 'clearingId'>>({
        bic,
        lei,
        name: texts(140),
        address: address(texts),
        otherId,
        branchId: reference(),
      }),
      fc.constantFrom({}, { clearingId: '37040044' }, { clearingSystem: { code: 'DEBLZ' }, clearingId: '37040044' }),
    )
    .map(([own, clearing]) => ({ ...own, ...clearing }))
    .filter(hasAny)
export const account: fc.Arbitrary<AccountId> = fc.oneof(
  plain({ iban }),
  record<{ other: string; scheme?: Code; issuer?: string }>(
    { other: reference(34), scheme: code(), issuer: reference() },
    ['other'],
  ),
)

/** DocumentType3Code and DocumentType6Code are lists within the schemas. */
const referenceTypes = ['RADM', 'RPIN', 'FXDR', 'DISP', 'PUOR', 'SCOR'] as const
const documentTypes = ['MSIN', 'CNFA', 'DNFA', 'CINV', 'CREN', 'DEBN', 'HIRI', 'SBIN', 'SOAC', 'VCHR', 'TSUT'] as const
const listed = (codes: readonly string[]): fc.Arbitrary<Code> =>
  fc.oneof(plain({ code: fc.constantFrom(...codes) }), plain({ proprietary: reference() }))

const structured = (texts: Texts) =>
  record<NonNullable<Remittance['structured']>[number]>(
    {
      creditorReference: reference(),
      referenceType: listed(referenceTypes),
      referenceIssuer: reference(),
      documents: fc.array(
        record<{ type?: Code; number?: string; date?: string }>({
          type: listed(documentTypes),
          number: reference(),
          date: day,
        }),
        { minLength: 1, maxLength: 2 },
      ),
      due: amount,
      remitted: amount,
      additional: fc.array(texts(140), { minLength: 1, maxLength: 3 }),
    },
    ['creditorReference', 'referenceType'],
  )
/** Draws one of the two forms of SEPA. */
export const remittance = (texts: Texts): fc.Arbitrary<Remittance> =>
  fc.oneof(plain({ unstructured: fc.tuple(texts(140)) }), plain({ structured: fc.tuple(structured(texts)) }))
export const reason: fc.Arbitrary<Reason> = fc
  .tuple(
    fc.oneof(fc.constant({}), code()),
    record<Pick<Reason, 'texts' | 'originator'>>(
      { texts: fc.array(text(105), { maxLength: 2 }), originator: party(text) },
      ['texts'],
    ),
  )
  .map(([own, rest]) => ({ ...own, ...rest }))

const transfer = record<Omit<CreditTransfer, 'others'>>(
  {
    ...fields(reference(), 'instructionId', 'endToEndId'),
    uetr,
    money,
    creditorAgent: agent(sepa),
    creditorAccount: account,
    ...fields(party(sepa), 'ultimateDebtor', 'creditor', 'ultimateCreditor'),
    creditorAccountType: fc.constantFrom('CACC', 'SVGS'),
    purpose: letters(4),
    remittance: remittance(sepa),
  },
  ['endToEndId', 'money', 'creditor', 'creditorAccount'],
)
const batch = record<PaymentBatch>(
  {
    id: reference(),
    batchBooking: fc.boolean(),
    serviceLevel: fc.constantFrom('SEPA', 'URGP'),
    localInstrument: fc.constantFrom('INST'),
    categoryPurpose: letters(4),
    executionDate: dayOrTime,
    ...fields(party(sepa), 'debtor', 'ultimateDebtor'),
    debtorAccount: account,
    debtorCurrency: fc.constantFrom('EUR', 'USD'),
    debtorAgent: agent(sepa),
    debtorAgentInstruction: fc.constantFrom('VoPOptIn', 'VoPOptOut'),
    chargeBearer: fc.constantFrom('SLEV', 'SHAR'),
    transfers: fc.array(transfer, { minLength: 1, maxLength: 3 }),
  },
  ['id', 'executionDate', 'debtor', 'debtorAccount', 'debtorAgent', 'transfers'],
)
export const initiation: fc.Arbitrary<CreditTransferInitiation> = plain({
  messageId: reference(),
  createdAt: moment,
  initiator: party(sepa),
  batches: fc.array(batch, { minLength: 1, maxLength: 2 }),
})

const count = fc.nat(1_000_000)
const sum = money.map(({ minor }) => `${minor / 100n}.${(minor % 100n).toString().padStart(2, '0')}`)
const reasons = fc.array(reason, { maxLength: 2 })
const transferStatus = record<StatusReport['batches'][number]['transfers'][number]>(
  {
    ...fields(reference(), 'statusId', 'instructionId', 'endToEndId', 'bankReference', 'clearingReference'),
    uetr,
    status: fc.constantFrom('RJCT', 'ACSC', 'PDNG'),
    reasons,
    acceptedAt: time,
    money: amount,
  },
  ['reasons'],
)
export const statusReport: fc.Arbitrary<StatusReport> = record<StatusReport>(
  {
    ...fields(reference(), 'messageId', 'originalMessageId'),
    createdAt: time,
    originalMessageName: fc.constantFrom('pain.001.001.09', 'pain.001'),
    originalCount: count,
    originalSum: sum,
    groupStatus: fc.constantFrom('RJCT', 'PART', 'ACTC'),
    reasons,
    batches: fc.array(
      record<StatusReport['batches'][number]>(
        {
          batchId: reference(),
          originalCount: count,
          originalSum: sum,
          status: fc.constantFrom('RJCT', 'ACSP'),
          reasons,
          transfers: fc.array(transferStatus, { maxLength: 3 }),
        },
        ['batchId', 'reasons', 'transfers'],
      ),
      { maxLength: 2 },
    ),
  },
  ['messageId', 'createdAt', 'originalMessageId', 'originalMessageName', 'reasons', 'batches'],
)

const recallTransfer = (extra: 'transactionId' | 'none', date: fc.Arbitrary<string>) =>
  record<Recall['transfers'][number]>(
    {
      ...fields(reference(), 'cancellationId', 'instructionId', 'endToEndId'),
      ...(extra === 'none' ? {} : { transactionId: reference() }),
      uetr,
      money,
      executionDate: date,
      reason: fc.constantFrom('DUPL', 'TECH', 'FRAD', 'CUST', 'AC03', 'AM09'),
      text: text(210),
    } as Fields<Recall['transfers'][number]>,
    ['cancellationId', 'endToEndId', 'money', 'reason'],
  )
const recallFields = {
  ...fields(reference(), 'messageId', 'caseId', 'originalMessageId'),
  ...fields(party(text), 'assigner', 'originator'),
  assignee: agent(text),
  createdAt: moment,
  originalMessageName: fc.constant('pain.001.001.09'),
}
export const recall: fc.Arbitrary<Recall> = fc.oneof(
  plain({
    kind: fc.constant('camt.055' as const),
    ...recallFields,
    originalBatchId: reference(),
    transfers: fc.array(recallTransfer('none', dayOrTime), { minLength: 1, maxLength: 2 }),
  }),
  plain({
    kind: fc.constant('camt.056' as const),
    ...recallFields,
    transfers: fc.array(recallTransfer('transactionId', day), { minLength: 1, maxLength: 2 }),
  }),
)

const answered = record<RecallAnswer['transfers'][number]>(
  {
    originalBatchId: fc.constantFrom('B1', 'B2'),
    ...fields(reference(), 'statusId', 'cancellationId', 'instructionId', 'endToEndId'),
    uetr,
    status: fc.constantFrom('ACCR', 'RJCR', 'PDCR'),
    reasons,
  },
  ['reasons'],
)
export const recallAnswer: fc.Arbitrary<RecallAnswer> = record<RecallAnswer>(
  {
    ...fields(reference(), 'messageId', 'caseId', 'originalMessageId'),
    createdAt: time,
    confirmation: fc.constantFrom('CNCL', 'RJCR', 'PDCR'),
    originalMessageName: fc.constant('pain.001.001.09'),
    groupStatus: fc.constantFrom('ACCR', 'RJCR', 'PACR'),
    reasons,
    transfers: fc.array(answered, { maxLength: 4 }),
  },
  ['messageId', 'createdAt', 'confirmation', 'reasons', 'transfers'],
)
