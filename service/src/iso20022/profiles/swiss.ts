/** The Swiss Payment Standards: payment types S (SEPA), X (other currencies, abroad) and D (a QR-bill in euro). */
import { bySepa, epc09, nameForm, transfer } from './epc.ts'
import type { Pain001Profile } from './profile.ts'
import type { PaymentKind, Rule } from './rule.ts'

const from = 'SPS-IG'
const qrIban = 'QR-IID'
const at = (
  within: string,
  element: string,
  demand: Rule['demand'],
  place: string,
  kinds?: readonly PaymentKind[],
): Rule => ({
  within,
  element,
  demand,
  source: from,
  place,
  ...(kinds === undefined ? {} : { kinds }),
})
const referenceForm = '[A-Za-z0-9 +\\-/?:().,\'#@!$%&*={}|~"<>;]{1,35}'
const payer = `${transfer}/UltmtDbtr`
const reference = 'RmtInf/Strd/CdtrRefInf'

export const sps09 = {
  ...epc09,
  id: 'sps-09',
  title: 'Switzerland and Liechtenstein (Swiss Payment Standards), pain.001.001.09',
  kinds: {
    Sepa: epc09.kinds.Sepa,
    Other: { ...epc09.kinds.Other, bicUnlessIn: ['CH', 'LI'], payerIdsMax: 1 },
    QrBill: { hasPayerAddress: true },
  },
  debtorAddress: 'none',
  hasAccountType: false,
  schemas: [{ name: 'pain.001.001.09' }, { name: 'pain.001.001.09.ch.03' }],
  sources: {
    [from]: {
      title: 'Swiss Payment Standards 2025, Implementation Guidelines for Credit Transfers (pain.001)',
      edition: 'version 2.2 of 24 February 2025',
      publisher: 'SIX Interbank Clearing',
      found: 'Sebastenhauer/iso20022tester at 55ddbeba, docs/specs/pain.001/ig-credit-transfer-sps-2025-de.md',
      read: 'whole',
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
    at('GrpHdr', 'MsgId', { is: 'form', pattern: referenceForm }, 'chapter 3.2'),
    at('GrpHdr', 'InitgPty/*', { is: 'present' }, 'table 14: a name or an id'),
    at('GrpHdr', 'InitgPty/Nm', { is: 'form', pattern: nameForm }, 'table 14', bySepa),
    at('GrpHdr', 'InitgPty/Id/OrgId/Othr', { is: 'count', max: 1 }, 'table 14'),
    at('PmtInf', 'PmtMtd', { is: 'oneOf', values: ['TRF'] }, 'table 13'),
    at('PmtInf', 'PmtTpInf/SvcLvl/Cd', { is: 'oneOf', values: ['SEPA'] }, 'table 13, type S', bySepa),
    at('PmtInf', 'PmtTpInf/SvcLvl/Cd', { is: 'noneOf', values: ['SEPA'] }, 'table 13, types D and X', [
      'Other',
      'QrBill',
    ]),
    at('PmtInf', 'PmtTpInf/LclInstrm', { is: 'absent' }, 'chapter 4.2, type D V1', ['QrBill']),
    at('PmtInf', 'ChrgBr', { is: 'oneOf', values: ['SLEV'] }, 'chapter 4.2, type S', ['Sepa']),
    at('PmtInf', 'Dbtr/PstlAdr', { is: 'absent' }, 'chapter 4.2: recommended'),
    at(transfer, 'PmtId/EndToEndId', { is: 'form', pattern: referenceForm }, 'chapter 3.2'),
    at(transfer, 'Amt/InstdAmt/@Ccy', { is: 'oneOf', values: ['EUR'] }, 'table 13, type S', ['Sepa']),
    at(transfer, 'Amt/InstdAmt/@Ccy', { is: 'oneOf', values: ['CHF', 'EUR'] }, 'table 13, type D', ['QrBill']),
    at(transfer, 'Cdtr/Nm', { is: 'present' }, 'chapter 4.3'),
    at(transfer, 'Cdtr/Nm', { is: 'form', pattern: nameForm }, 'chapter 4.3, type S', ['Sepa']),
    at(transfer, 'CdtrAcct/Id/IBAN', { is: 'present' }, 'table 13, type S', ['Sepa']),
    {
      within: transfer,
      element: 'CdtrAcct/Id/IBAN',
      demand: { is: 'form', pattern: '(CH|LI)\\d{2}3[01]\\d{3}.*' },
      kinds: ['QrBill'],
      source: qrIban,
      place: 'a QR-IID is a number from 30000 to 31999',
    },
    at(payer, 'Nm', { is: 'present' }, 'chapter 3.13: required'),
    at(payer, 'Nm', { is: 'form', pattern: nameForm }, 'chapter 4.3, type S', ['Sepa']),
    at(payer, 'PstlAdr', { is: 'absent' }, 'chapter 4.3, type S: not forwarded', ['Sepa']),
    at(`${payer}/PstlAdr`, 'TwnNm', { is: 'present' }, 'chapter 4.3'),
    at(`${payer}/PstlAdr`, 'Ctry', { is: 'present' }, 'chapter 4.3'),
    at(`${payer}/PstlAdr`, 'AdrLine', { is: 'count', max: 2 }, 'chapter 4.3'),
    at(`${payer}/Id`, 'OrgId/Othr', { is: 'count', max: 1 }, 'chapter 4.3'),
    at(`${payer}/Id/PrvtId`, '*', { is: 'count', max: 1 }, 'chapter 4.3'),
    at(`${transfer}/RmtInf`, '*', { is: 'count', max: 1 }, 'chapter 4.3: structured or not'),
    at(transfer, 'RmtInf/Ustrd', { is: 'absent' }, 'chapter 4.3, type D with a QR-IBAN', ['QrBill']),
    at(transfer, `${reference}/Tp/CdOrPrtry/Prtry`, { is: 'oneOf', values: ['QRR'] }, 'chapter 4.3, type D', [
      'QrBill',
    ]),
    at(transfer, `${reference}/Tp/CdOrPrtry/Prtry`, { is: 'absent' }, 'chapter 4.3, type S', ['Sepa']),
    at(
      transfer,
      `${reference}/Ref`,
      { is: 'form', pattern: '\\d{27}' },
      'chapter 3.14.2: 26 digits and a check digit',
      ['QrBill'],
    ),
  ],
} as const satisfies Pain001Profile
