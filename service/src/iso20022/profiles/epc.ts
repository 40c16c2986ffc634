/** The guideline of the European Payments Council for credit transfers: today's version 09, and 03 for banks that still take it. */
import type { Pain001Profile } from './profile.ts'
import type { PaymentKind, Rule, RuleSource } from './rule.ts'

export const transfer = 'PmtInf/CdtTrfTxInf'
/** Kinds that go by a scheme of SEPA. */
export const bySepa: readonly PaymentKind[] = ['Sepa', 'Instant']
/** EPC217-08: letters and digits of ASCII, and these signs. */
const referenceForm = "[A-Za-z0-9/\\-?:().,'+ ]{1,35}"
export const nameForm = '.{1,70}'

const from = 'EPC132-08'
export const epcSources: Readonly<Record<string, RuleSource>> = {
  [from]: {
    title: 'SEPA Credit Transfer Scheme, Customer-to-PSP Implementation Guidelines',
    edition: '2025 version 1.0, of 5 October 2025',
    publisher: 'European Payments Council',
    found:
      'the usage rules in pain.001.001.09_GBIC_5.xsd of the Deutsche Kreditwirtschaft, and the comparison of rules in Sebastenhauer/iso20022tester at 55ddbeba',
    read: 'quoted',
  },
}

const party = (within: string): readonly Rule[] => [
  { within, element: 'TwnNm', demand: { is: 'present' }, source: from, place: 'index 2.23, from 15 November 2026' },
  { within, element: 'Ctry', demand: { is: 'present' }, source: from, place: 'index 2.23, from 15 November 2026' },
  { within, element: 'AdrLine', demand: { is: 'count', max: 2 }, source: from, place: 'index 2.23' },
]
/** The ultimate debtor has a name and one id in SEPA, and no address. */
const payerInSepa = (element: string, demand: Rule['demand']): readonly Rule[] => [
  { within: `${transfer}/UltmtDbtr`, element, demand, kinds: bySepa, source: from, place: 'AT-P006, AT-P007' },
]
/** Rules about the form of a message that hold in both versions. */
const commonRules: readonly Rule[] = [
  {
    within: 'GrpHdr',
    element: 'MsgId',
    demand: { is: 'form', pattern: referenceForm },
    source: from,
    place: 'section 1.4',
  },
  { within: 'GrpHdr', element: 'InitgPty/Nm', demand: { is: 'form', pattern: nameForm }, source: from, place: '1.7' },
  {
    within: 'PmtInf',
    element: 'PmtInfId',
    demand: { is: 'form', pattern: referenceForm },
    source: from,
    place: 'section 1.4',
  },
  { within: 'PmtInf', element: 'PmtMtd', demand: { is: 'oneOf', values: ['TRF'] }, source: from, place: '2.2' },
  { within: 'PmtInf', element: 'Dbtr/Nm', demand: { is: 'form', pattern: nameForm }, source: from, place: '2.22' },
  { within: 'PmtInf', element: 'DbtrAcct/Id/IBAN', demand: { is: 'present' }, source: from, place: 'AT-D001' },
  {
    within: 'PmtInf',
    element: 'PmtTpInf/SvcLvl/Cd',
    demand: { is: 'oneOf', values: ['SEPA'] },
    kinds: bySepa,
    source: from,
    place: '2.9',
  },
  {
    within: 'PmtInf',
    element: 'ChrgBr',
    demand: { is: 'oneOf', values: ['SLEV'] },
    kinds: bySepa,
    source: from,
    place: '2.75',
  },
  {
    within: transfer,
    element: 'PmtId/EndToEndId',
    demand: { is: 'form', pattern: referenceForm },
    source: from,
    place: 'section 1.4',
  },
  {
    within: transfer,
    element: 'PmtId/InstrId',
    demand: { is: 'form', pattern: referenceForm },
    source: from,
    place: 'section 1.4',
  },
  {
    within: transfer,
    element: 'Amt/InstdAmt/@Ccy',
    demand: { is: 'oneOf', values: ['EUR'] },
    kinds: bySepa,
    source: from,
    place: '2.95',
  },
  { within: transfer, element: 'Cdtr/Nm', demand: { is: 'form', pattern: nameForm }, source: from, place: '2.117' },
  {
    within: transfer,
    element: 'CdtrAcct/Id/IBAN',
    demand: { is: 'present' },
    kinds: bySepa,
    source: from,
    place: 'AT-C001',
  },
  { within: `${transfer}/RmtInf`, element: '*', demand: { is: 'count', max: 1 }, source: from, place: '2.164' },
  { within: `${transfer}/UltmtDbtr`, element: 'Nm', demand: { is: 'form', pattern: nameForm }, source: from, place: 'AT-P006' },
  ...payerInSepa('PstlAdr', { is: 'absent' }),
  ...payerInSepa('Id/OrgId/Othr', { is: 'count', max: 1 }),
  ...payerInSepa('Id/PrvtId/Othr', { is: 'count', max: 1 }),
]
export const epcRules: readonly Rule[] = [
  ...commonRules,
  { within: 'PmtInf', element: 'DbtrAgt/FinInstnId/BICFI', demand: { is: 'present' }, source: from, place: 'AT-D002' },
  ...party('PmtInf/Dbtr/PstlAdr'),
]

export const epc09 = {
  id: 'epc-09',
  title: 'SEPA, pain.001.001.09',
  message: 'pain.001.001.09',
  hasMilliseconds: true,
  kinds: {
    Sepa: { serviceLevel: 'SEPA', chargeBearer: 'SLEV' },
    Instant: { serviceLevel: 'SEPA', localInstrument: 'INST', chargeBearer: 'SLEV' },
    Other: { serviceLevel: 'NURG', chargeBearer: 'configured', hasPayerAddress: true, payerIdsMax: 3 },
  },
  debtorAddress: 'hybrid',
  hasAccountType: true,
  schemas: [{ name: 'pain.001.001.09' }],
  sources: epcSources,
  rules: epcRules,
} as const satisfies Pain001Profile

const old = 'GBIC-3'
export const epc03 = {
  ...epc09,
  id: 'epc-03',
  title: 'SEPA, pain.001.001.03',
  message: 'pain.001.001.03',
  schemas: [{ name: 'pain.001.001.03' }, { name: 'pain.001.001.03_GBIC_3', kinds: bySepa }],
  sources: {
    ...epcSources,
    [old]: {
      title: 'pain.001.001.03_GBIC_3.xsd, Technical Validation Subset',
      edition: 'DFÜ-Abkommen, Anlage 3, chapter 2',
      publisher: 'Die Deutsche Kreditwirtschaft',
      found: 'AdVitam/sepa_rator at 22573a32, lib/schema/dk',
      read: 'whole',
    },
  },
  rules: [
    ...commonRules,
    { within: 'PmtInf', element: 'DbtrAgt/FinInstnId/BIC', demand: { is: 'present' }, source: from, place: 'AT-D002' },
    {
      within: 'PmtInf',
      element: 'ReqdExctnDt',
      demand: { is: 'form', pattern: '\\d{4}-\\d{2}-\\d{2}' },
      source: old,
      place: 'PaymentInstructionInformationSCT',
    },
    {
      within: 'PmtInf/Dbtr/PstlAdr',
      element: 'TwnNm',
      demand: { is: 'absent' },
      source: old,
      place: 'PostalAddressSEPA: a country and two lines',
    },
    {
      within: 'PmtInf/Dbtr/PstlAdr',
      element: 'AdrLine',
      demand: { is: 'count', max: 2 },
      source: old,
      place: 'PostalAddressSEPA: a country and two lines',
    },
  ],
} as const satisfies Pain001Profile
