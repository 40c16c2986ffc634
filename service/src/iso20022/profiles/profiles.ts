/** The profiles of pain.001, by id. */
import type { Pain001Profile, PaymentKind, ProfileRule, RuleSource } from './profile.ts'

// The guideline of the European Payments Council for credit transfers: version 09, and 03 for banks that still use it.

const transfer = 'PmtInf/CdtTrfTxInf'
/** Kinds of SEPA schemes. */
const bySepa: readonly PaymentKind[] = ['Sepa', 'Instant']
/** EPC217-08: ASCII letters and digits, and these characters. */
const epcReferenceForm = "[A-Za-z0-9/\\-?:().,'+ ]{1,35}"
const nameForm = '.{1,70}'

const epcFrom = 'EPC132-08'
const addresses = 'EPC153-22'
const epcSources: Readonly<Record<string, RuleSource>> = {
  [epcFrom]: {
    title: 'SEPA Credit Transfer Scheme, Customer-to-PSP Implementation Guidelines',
    edition: '2025 version 1.0, of 5 October 2025',
    publisher: 'European Payments Council',
    found:
      'the usage rules in pain.001.001.09_GBIC_5.xsd of the Deutsche Kreditwirtschaft, and the comparison of rules in Sebastenhauer/iso20022tester at 55ddbeba',
    read: 'quoted',
  },
  [addresses]: {
    title: 'Guidance document, Provision of Addresses under the EPC Payment Schemes',
    edition: 'version 2.1 of October 2025, for the rulebooks 2025 version 1.1',
    publisher: 'European Payments Council',
    found: 'the announcement of the council on its website. The document itself was not read',
    read: 'quoted',
  },
}

/**
 * The first execution day on which unstructured addresses are refused. An address with town and country may have two
 * lines in addition.
 */
const structuredFrom = '2026-11-15'
const lastDayOfLines = '2026-11-14'
const partyAddressRules = (within: string, place: string): readonly ProfileRule[] => [
  {
    within,
    element: 'TwnNm',
    demand: { is: 'present' },
    from: structuredFrom,
    source: addresses,
    place: 'section 7.4',
  },
  { within, element: 'Ctry', demand: { is: 'present' }, from: structuredFrom, source: addresses, place: 'section 7.4' },
  { within, element: 'AdrLine', demand: { is: 'count', max: 2 }, source: epcFrom, place },
]
const partyRules: readonly ProfileRule[] = [
  ...partyAddressRules('PmtInf/Dbtr/PstlAdr', 'index 2.23'),
  ...partyAddressRules(`${transfer}/Cdtr/PstlAdr`, 'Creditor, Postal Address'),
]
/** Builds the rules of the ultimate debtor in SEPA, who has a name and one id, without an address. */
const payerInSepa = (element: string, demand: ProfileRule['demand']): readonly ProfileRule[] => [
  { within: `${transfer}/UltmtDbtr`, element, demand, kinds: bySepa, source: epcFrom, place: 'AT-P006, AT-P007' },
]
/** Rules that hold in both versions. */
const commonRules: readonly ProfileRule[] = [
  {
    within: 'GrpHdr',
    element: 'MsgId',
    demand: { is: 'form', pattern: epcReferenceForm },
    source: epcFrom,
    place: 'section 1.4',
  },
  {
    within: 'GrpHdr',
    element: 'InitgPty/Nm',
    demand: { is: 'form', pattern: nameForm },
    source: epcFrom,
    place: '1.7',
  },
  {
    within: 'PmtInf',
    element: 'PmtInfId',
    demand: { is: 'form', pattern: epcReferenceForm },
    source: epcFrom,
    place: 'section 1.4',
  },
  { within: 'PmtInf', element: 'PmtMtd', demand: { is: 'oneOf', values: ['TRF'] }, source: epcFrom, place: '2.2' },
  { within: 'PmtInf', element: 'Dbtr/Nm', demand: { is: 'form', pattern: nameForm }, source: epcFrom, place: '2.22' },
  { within: 'PmtInf', element: 'DbtrAcct/Id/IBAN', demand: { is: 'present' }, source: epcFrom, place: 'AT-D001' },
  {
    within: 'PmtInf',
    element: 'PmtTpInf/SvcLvl/Cd',
    demand: { is: 'oneOf', values: ['SEPA'] },
    kinds: bySepa,
    source: epcFrom,
    place: '2.9',
  },
  {
    within: 'PmtInf',
    element: 'ChrgBr',
    demand: { is: 'oneOf', values: ['SLEV'] },
    kinds: bySepa,
    source: epcFrom,
    place: '2.75',
  },
  {
    within: transfer,
    element: 'PmtId/EndToEndId',
    demand: { is: 'form', pattern: epcReferenceForm },
    source: epcFrom,
    place: 'section 1.4',
  },
  {
    within: transfer,
    element: 'PmtId/InstrId',
    demand: { is: 'form', pattern: epcReferenceForm },
    source: epcFrom,
    place: 'section 1.4',
  },
  {
    within: transfer,
    element: 'Amt/InstdAmt/@Ccy',
    demand: { is: 'oneOf', values: ['EUR'] },
    kinds: bySepa,
    source: epcFrom,
    place: '2.95',
  },
  { within: transfer, element: 'Cdtr/Nm', demand: { is: 'form', pattern: nameForm }, source: epcFrom, place: '2.117' },
  {
    within: transfer,
    element: 'CdtrAcct/Id/IBAN',
    demand: { is: 'present' },
    kinds: bySepa,
    source: epcFrom,
    place: 'AT-C001',
  },
  { within: `${transfer}/RmtInf`, element: '*', demand: { is: 'count', max: 1 }, source: epcFrom, place: '2.164' },
  {
    within: `${transfer}/UltmtDbtr`,
    element: 'Nm',
    demand: { is: 'form', pattern: nameForm },
    source: epcFrom,
    place: 'AT-P006',
  },
  ...payerInSepa('PstlAdr', { is: 'absent' }),
  ...payerInSepa('Id/OrgId/Othr', { is: 'count', max: 1 }),
  ...payerInSepa('Id/PrvtId/Othr', { is: 'count', max: 1 }),
]
const epcRules: readonly ProfileRule[] = [
  ...commonRules,
  {
    within: 'PmtInf',
    element: 'DbtrAgt/FinInstnId/BICFI',
    demand: { is: 'present' },
    source: epcFrom,
    place: 'AT-D002',
  },
  ...partyRules,
]

const epc09 = {
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

const germanOld = 'GBIC-3'
const epc03 = {
  ...epc09,
  id: 'epc-03',
  title: 'SEPA, pain.001.001.03',
  message: 'pain.001.001.03',
  addressLinesUntil: lastDayOfLines,
  schemas: [{ name: 'pain.001.001.03' }, { name: 'pain.001.001.03_GBIC_3', kinds: bySepa, until: lastDayOfLines }],
  sources: {
    ...epcSources,
    [germanOld]: {
      title: 'pain.001.001.03_GBIC_3.xsd, Technical Validation Subset',
      edition: 'DFÜ-Abkommen, Anlage 3, chapter 2',
      publisher: 'Die Deutsche Kreditwirtschaft',
      found: 'AdVitam/sepa_rator at 22573a32, lib/schema/dk',
      read: 'whole',
    },
  },
  rules: [
    ...commonRules,
    {
      within: 'PmtInf',
      element: 'DbtrAgt/FinInstnId/BIC',
      demand: { is: 'present' },
      source: epcFrom,
      place: 'AT-D002',
    },
    {
      within: 'PmtInf',
      element: 'ReqdExctnDt',
      demand: { is: 'form', pattern: '\\d{4}-\\d{2}-\\d{2}' },
      source: germanOld,
      place: 'PaymentInstructionInformationSCT',
    },
    ...['PmtInf/Dbtr/PstlAdr', `${transfer}/Cdtr/PstlAdr`].map((within) => ({
      within,
      element: 'TwnNm',
      demand: { is: 'absent' } as const,
      until: lastDayOfLines,
      source: germanOld,
      place: 'PostalAddressSEPA: a country and two lines',
    })),
    ...partyRules,
  ],
} as const satisfies Pain001Profile

// The Swiss Payment Standards: payment types S (SEPA), X (other currencies, abroad) and D (a QR-bill in euro).

const swissFrom = 'SPS-IG'
const swissDelta = 'SPS-2026'
const qrIban = 'QR-IID'
const swissRule = (
  within: string,
  element: string,
  demand: ProfileRule['demand'],
  place: string,
  kinds?: readonly PaymentKind[],
): ProfileRule => ({
  within,
  element,
  demand,
  source: swissFrom,
  place,
  ...(kinds === undefined ? {} : { kinds }),
})
const referenceForm = '[A-Za-z0-9 +\\-/?:().,\'#@!$%&*={}|~"<>;]{1,35}'
const payer = `${transfer}/UltmtDbtr`
const reference = 'RmtInf/Strd/CdtrRefInf'

const sps09 = {
  ...epc09,
  id: 'sps-09',
  title: 'Switzerland and Liechtenstein (Swiss Payment Standards), pain.001.001.09',
  kinds: {
    Sepa: epc09.kinds.Sepa,
    Other: { ...epc09.kinds.Other, payerIdsMax: 1 },
    QrBill: { hasPayerAddress: true },
  },
  debtorAddress: 'none',
  hasAccountType: false,
  schemas: [{ name: 'pain.001.001.09' }, { name: 'pain.001.001.09.ch.03' }],
  sources: {
    [swissFrom]: {
      title: 'Swiss Payment Standards 2025, Implementation Guidelines for Credit Transfers (pain.001)',
      edition: 'version 2.2 of 24 February 2025',
      publisher: 'SIX Interbank Clearing',
      found: 'Sebastenhauer/iso20022tester at 55ddbeba, docs/specs/pain.001/ig-credit-transfer-sps-2025-de.md',
      read: 'whole',
    },
    [swissDelta]: {
      title: 'Delta Document for the Adjustments made from SPS 2025 to SPS 2026',
      edition: 'version 1.0 of 18 May 2026, valid from 14 November 2026',
      publisher: 'SIX Interbank Clearing',
      found: 'its first pages, and the roadmap of SIX: unstructured addresses end in November 2026',
      read: 'quoted',
    },
    [qrIban]: {
      title: 'QR-IID and QR-IBAN, technical information',
      edition: 'reference 376 of the Implementation Guidelines',
      publisher: 'SIX Interbank Clearing',
      found: 'several public programs that make QR-bills state the range; the document itself was not read',
      read: 'quoted',
    },
  },
  rules: [
    swissRule('GrpHdr', 'MsgId', { is: 'form', pattern: referenceForm }, 'chapter 3.2'),
    swissRule('GrpHdr', 'InitgPty/*', { is: 'present' }, 'table 14: a name or an id'),
    swissRule('GrpHdr', 'InitgPty/Nm', { is: 'form', pattern: nameForm }, 'table 14', bySepa),
    swissRule('GrpHdr', 'InitgPty/Id/OrgId/Othr', { is: 'count', max: 1 }, 'table 14'),
    swissRule('PmtInf', 'PmtMtd', { is: 'oneOf', values: ['TRF'] }, 'table 13'),
    swissRule('PmtInf', 'PmtTpInf/SvcLvl/Cd', { is: 'oneOf', values: ['SEPA'] }, 'table 13, type S', bySepa),
    swissRule('PmtInf', 'PmtTpInf/SvcLvl/Cd', { is: 'noneOf', values: ['SEPA'] }, 'table 13, types D and X', [
      'Other',
      'QrBill',
    ]),
    swissRule('PmtInf', 'PmtTpInf/LclInstrm', { is: 'absent' }, 'chapter 4.2, type D V1', ['QrBill']),
    swissRule('PmtInf', 'ChrgBr', { is: 'oneOf', values: ['SLEV'] }, 'chapter 4.2, type S', ['Sepa']),
    swissRule('PmtInf', 'Dbtr/PstlAdr', { is: 'absent' }, 'chapter 4.2: recommended'),
    swissRule(transfer, 'PmtId/EndToEndId', { is: 'form', pattern: referenceForm }, 'chapter 3.2'),
    swissRule(transfer, 'Amt/InstdAmt/@Ccy', { is: 'oneOf', values: ['EUR'] }, 'table 13, type S', ['Sepa']),
    swissRule(transfer, 'Amt/InstdAmt/@Ccy', { is: 'oneOf', values: ['CHF', 'EUR'] }, 'table 13, type D', ['QrBill']),
    swissRule(transfer, 'Cdtr/Nm', { is: 'present' }, 'chapter 4.3'),
    swissRule(transfer, 'Cdtr/Nm', { is: 'form', pattern: nameForm }, 'chapter 4.3, type S', ['Sepa']),
    swissRule(`${transfer}/Cdtr/PstlAdr`, 'AdrLine', { is: 'count', max: 2 }, 'hybrid addresses'),
    ...['TwnNm', 'Ctry'].map((element) => ({
      ...swissRule(`${transfer}/Cdtr/PstlAdr`, element, { is: 'present' }, 'use of address information'),
      source: swissDelta,
      from: '2026-11-14',
    })),
    swissRule(transfer, 'CdtrAcct/Id/IBAN', { is: 'present' }, 'table 13, type S', ['Sepa']),
    {
      within: transfer,
      element: 'CdtrAcct/Id/IBAN',
      demand: { is: 'form', pattern: '(CH|LI)\\d{2}3[01]\\d{3}.*' },
      kinds: ['QrBill'],
      source: qrIban,
      place: 'a QR-IID is a number from 30000 to 31999',
    },
    swissRule(payer, 'Nm', { is: 'present' }, 'chapter 3.13: required'),
    swissRule(payer, 'Nm', { is: 'form', pattern: nameForm }, 'chapter 4.3, type S', ['Sepa']),
    swissRule(payer, 'PstlAdr', { is: 'absent' }, 'chapter 4.3, type S: not forwarded', ['Sepa']),
    swissRule(`${payer}/PstlAdr`, 'TwnNm', { is: 'present' }, 'chapter 4.3'),
    swissRule(`${payer}/PstlAdr`, 'Ctry', { is: 'present' }, 'chapter 4.3'),
    swissRule(`${payer}/PstlAdr`, 'AdrLine', { is: 'count', max: 2 }, 'chapter 4.3'),
    swissRule(`${payer}/Id`, 'OrgId/Othr', { is: 'count', max: 1 }, 'chapter 4.3'),
    swissRule(`${payer}/Id/PrvtId`, '*', { is: 'count', max: 1 }, 'chapter 4.3'),
    swissRule(`${transfer}/RmtInf`, '*', { is: 'count', max: 1 }, 'chapter 4.3: structured or not'),
    swissRule(transfer, 'RmtInf/Ustrd', { is: 'absent' }, 'chapter 4.3, type D with a QR-IBAN', ['QrBill']),
    swissRule(transfer, `${reference}/Tp/CdOrPrtry/Prtry`, { is: 'oneOf', values: ['QRR'] }, 'chapter 4.3, type D', [
      'QrBill',
    ]),
    swissRule(transfer, `${reference}/Tp/CdOrPrtry/Prtry`, { is: 'absent' }, 'chapter 4.3, type S', ['Sepa']),
    swissRule(
      transfer,
      `${reference}/Ref`,
      { is: 'form', pattern: '\\d{27}' },
      'chapter 3.14.2: 26 digits and a check digit',
      ['QrBill'],
    ),
  ],
} as const satisfies Pain001Profile

// Common Global Implementation (CGI-MP), which multinational companies use with banks of several countries.

const cgiFrom = 'CGI-MP'
const cgi09 = {
  ...epc09,
  id: 'cgi-09',
  title: 'Common Global Implementation (CGI-MP), pain.001.001.09',
  initiatorIdScheme: 'CUST',
  sources: {
    ...epcSources,
    [cgiFrom]: {
      title: 'CGI-MP WG1 User Handbook pain.001.001.09',
      edition: 'update of November 2025',
      publisher: 'Common Global Implementation Market Practice',
      found:
        'the comparison of rules in Sebastenhauer/iso20022tester at 55ddbeba, docs/specs/pain.001. The handbook itself was not read',
      read: 'quoted',
    },
  },
  rules: [
    ...epcRules,
    {
      within: 'PmtInf',
      element: 'PmtMtd',
      demand: { is: 'oneOf', values: ['TRF'] },
      source: cgiFrom,
      place: 'BR-CGI-PMTMTD-01',
    },
    {
      within: 'PmtInf/PmtTpInf',
      element: 'SvcLvl',
      demand: { is: 'present' },
      source: cgiFrom,
      place: 'BR-CGI-PTI-01',
    },
    {
      within: 'GrpHdr/InitgPty/Id/OrgId/Othr',
      element: 'SchmeNm/Cd',
      demand: { is: 'present' },
      source: cgiFrom,
      place: 'BR-CGI-ORG-01',
    },
    {
      within: 'GrpHdr',
      element: 'InitgPty/PstlAdr/AdrLine',
      demand: { is: 'absent' },
      source: cgiFrom,
      place: 'BR-CGI-ADDR-02',
    },
    {
      within: `${transfer}/RmtInf`,
      element: '*',
      demand: { is: 'count', max: 1 },
      source: cgiFrom,
      place: 'BR-CGI-RMT-01',
    },
  ],
} as const satisfies Pain001Profile

// The format of Austrian banks, published by PSA, for SEPA payments only. Its schema redefines that of ISO, so that the
// tests check its rules instead.

const austrianFrom = 'PSA-005'
const austrianRule = (within: string, element: string, demand: ProfileRule['demand'], place: string): ProfileRule => ({
  within,
  element,
  demand,
  source: austrianFrom,
  place,
})

const psa09 = {
  ...epc09,
  id: 'psa-09',
  title: 'Austria (PSA), pain.001.001.09',
  hasMilliseconds: false,
  kinds: { Sepa: epc09.kinds.Sepa, Instant: epc09.kinds.Instant },
  debtorAddress: 'none',
  payeeCheck: { in: 'VoPOptIn', out: 'VoPOptOut' },
  sources: {
    ...epcSources,
    [austrianFrom]: {
      title: 'ISO.pain.001.001.09.austrian.005.xsd',
      edition: 'version 5 of 5 May 2025, for the SEPA rulebook of 2023',
      publisher: 'PSA Payment Services Austria',
      found: 'AdVitam/sepa_rator at 22573a32, lib/schema/at (without its assertions of XML Schema 1.1)',
      read: 'whole',
    },
  },
  rules: [
    ...epcRules,
    austrianRule(
      'GrpHdr',
      'CreDtTm',
      { is: 'form', pattern: '\\d{4}(-\\d{2}){2}T\\d{2}(:\\d{2}){2}(\\.\\d{0,2}[1-9])?(Z|([-+]\\d{2}(:\\d{2})?))' },
      'ISODateTime',
    ),
    austrianRule('GrpHdr', 'CtrlSum', { is: 'present' }, 'GroupHeader85'),
    austrianRule('GrpHdr', 'InitgPty/Id/PrvtId', { is: 'absent' }, 'Party38Choice_InitgPty'),
    austrianRule('PmtInf', 'NbOfTxs', { is: 'form', pattern: '[1-9][0-9]{0,5}' }, 'Max15NumericText'),
    austrianRule('PmtInf', 'CtrlSum', { is: 'present' }, 'PaymentInstruction30'),
    austrianRule(
      'PmtInf',
      'InstrForDbtrAgt',
      { is: 'oneOf', values: ['VoPOptIn', 'VoPOptOut'] },
      'InstrForDbtrAgt_Text',
    ),
    austrianRule(
      'PmtInf',
      'PmtTpInf/SvcLvl/Cd',
      { is: 'oneOf', values: ['SDVA', 'SEPA'] },
      'AT_ExternalServiceLevel1Code',
    ),
    austrianRule('PmtInf', 'Dbtr/PstlAdr', { is: 'absent' }, 'PartyIdentification135_Dbtr'),
    austrianRule(transfer, 'Amt/InstdAmt/@Ccy', { is: 'oneOf', values: ['EUR'] }, 'ActiveOrHistoricCurrencyCode_TX'),
    austrianRule(`${transfer}/Cdtr/PstlAdr`, 'AdrLine', { is: 'absent' }, 'PostalAddress24'),
  ],
} as const satisfies Pain001Profile

// The format of German banks, for SEPA payments only: Anlage 3 of the DFÜ-Abkommen, chapter 2.

const germanFrom = 'GBIC-5'
const germanRule = (within: string, element: string, demand: ProfileRule['demand'], place: string): ProfileRule => ({
  within,
  element,
  demand,
  source: germanFrom,
  place,
})

const dk09 = {
  ...epc09,
  id: 'dk-09',
  title: 'Germany (Die Deutsche Kreditwirtschaft), pain.001.001.09',
  kinds: { Sepa: epc09.kinds.Sepa, Instant: epc09.kinds.Instant },
  schemas: [{ name: 'pain.001.001.09' }, { name: 'pain.001.001.09_GBIC_5' }],
  sources: {
    ...epcSources,
    [germanFrom]: {
      title: 'pain.001.001.09_GBIC_5.xsd, Technical Validation Subset',
      edition: '1 April 2025, for version 3.9 of the DFÜ-Abkommen, Anlage 3',
      publisher: 'Die Deutsche Kreditwirtschaft',
      found: 'AdVitam/sepa_rator at 22573a32, lib/schema/dk',
      read: 'whole',
    },
  },
  rules: [
    ...epcRules,
    germanRule('GrpHdr', 'CtrlSum', { is: 'present' }, 'GroupHeader85_SCT_SCTinst'),
    germanRule('PmtInf', 'NbOfTxs', { is: 'present' }, 'PaymentInstruction30_SCT_SCTinst'),
    germanRule('PmtInf', 'CtrlSum', { is: 'present' }, 'PaymentInstruction30_SCT_SCTinst'),
    germanRule('PmtInf', 'PmtTpInf/SvcLvl', { is: 'count', max: 1 }, 'PaymentTypeInformation26_SCT_SCTinst'),
    germanRule('PmtInf', 'InstrForDbtrAgt', { is: 'absent' }, 'PaymentInstruction30_SCT_SCTinst'),
    germanRule(transfer, 'PmtId/UETR', { is: 'absent' }, 'PaymentIdentification6_SCT_SCTinst'),
    germanRule(
      transfer,
      'Amt/InstdAmt/@Ccy',
      { is: 'oneOf', values: ['EUR'] },
      'ActiveOrHistoricCurrencyAndAmount_SCT_SCTinst',
    ),
    germanRule(transfer, 'Cdtr/Nm', { is: 'present' }, 'PartyIdentification135_SCT_SCTinst_5'),
  ],
} as const satisfies Pain001Profile

// The format of French banks. The CFONB guide was not available: this is the guideline of the European Payments Council
// with a structured address, which another project cites as a rule of version 2.6 of the guide.

const frenchFrom = 'CFONB'
const cfonb09 = {
  ...epc09,
  id: 'cfonb-09',
  title: 'France (CFONB), pain.001.001.09',
  kinds: { Sepa: epc09.kinds.Sepa, Instant: epc09.kinds.Instant },
  debtorAddress: 'structured',
  sources: {
    ...epcSources,
    [frenchFrom]: {
      title: "Guide d'utilisation du standard ISO 20022 pour des remises informatisées d'ordres de paiement",
      edition: 'version 2.6',
      publisher: 'CFONB',
      found: 'AdVitam/sepa_rator at 22573a32, lib/sepa_rator/profiles/cfonb.rb. The guide itself was not read',
      read: 'quoted',
    },
  },
  rules: [
    ...epcRules,
    {
      within: 'PmtInf/Dbtr/PstlAdr',
      element: 'AdrLine',
      demand: { is: 'absent' },
      source: frenchFrom,
      place: 'postal addresses are structured',
    },
  ],
} as const satisfies Pain001Profile

const profiles: readonly Pain001Profile[] = [epc09, epc03, sps09, dk09, psa09, cfonb09, cgi09]

/** Profile ids, the default first. */
export const profileIds = profiles.map(({ id }) => id)
export const defaultProfile: Pain001Profile = epc09
export const profileById = (id: string): Pain001Profile | undefined => profiles.find((profile) => profile.id === id)
