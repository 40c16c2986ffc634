/**
 * The form of the Austrian banks, published by PSA. It carries payments of SEPA only. Its schema redefines the one of ISO, so
 * that the tests have its rules instead.
 */
import { epc09, epcRules, epcSources, transfer } from './epc.ts'
import type { Pain001Profile } from './profile.ts'
import type { Rule } from './rule.ts'

const from = 'PSA-005'
const at = (within: string, element: string, demand: Rule['demand'], place: string): Rule => ({
  within,
  element,
  demand,
  source: from,
  place,
})

export const psa09 = {
  ...epc09,
  id: 'psa-09',
  title: 'Austria (PSA), pain.001.001.09',
  hasMilliseconds: false,
  kinds: { Sepa: epc09.kinds.Sepa, Instant: epc09.kinds.Instant },
  debtorAddress: 'none',
  payeeCheck: { in: 'VoPOptIn', out: 'VoPOptOut' },
  sources: {
    ...epcSources,
    [from]: {
      title: 'ISO.pain.001.001.09.austrian.005.xsd',
      edition: 'version 5 of 5 May 2025, for the SEPA rulebook of 2023',
      publisher: 'PSA Payment Services Austria',
      found: 'AdVitam/sepa_rator at 22573a32, lib/schema/at (without its assertions of XML Schema 1.1)',
      read: 'whole',
    },
  },
  rules: [
    ...epcRules,
    at(
      'GrpHdr',
      'CreDtTm',
      { is: 'form', pattern: '\\d{4}(-\\d{2}){2}T\\d{2}(:\\d{2}){2}(\\.\\d{0,2}[1-9])?(Z|([-+]\\d{2}(:\\d{2})?))' },
      'ISODateTime',
    ),
    at('GrpHdr', 'CtrlSum', { is: 'present' }, 'GroupHeader85'),
    at('GrpHdr', 'InitgPty/Id/PrvtId', { is: 'absent' }, 'Party38Choice_InitgPty'),
    at('PmtInf', 'NbOfTxs', { is: 'form', pattern: '[1-9][0-9]{0,5}' }, 'Max15NumericText'),
    at('PmtInf', 'CtrlSum', { is: 'present' }, 'PaymentInstruction30'),
    at('PmtInf', 'InstrForDbtrAgt', { is: 'oneOf', values: ['VoPOptIn', 'VoPOptOut'] }, 'InstrForDbtrAgt_Text'),
    at('PmtInf', 'PmtTpInf/SvcLvl/Cd', { is: 'oneOf', values: ['SDVA', 'SEPA'] }, 'AT_ExternalServiceLevel1Code'),
    at('PmtInf', 'Dbtr/PstlAdr', { is: 'absent' }, 'PartyIdentification135_Dbtr'),
    at(transfer, 'Amt/InstdAmt/@Ccy', { is: 'oneOf', values: ['EUR'] }, 'ActiveOrHistoricCurrencyCode_TX'),
    at(`${transfer}/Cdtr/PstlAdr`, 'AdrLine', { is: 'absent' }, 'PostalAddress24'),
  ],
} as const satisfies Pain001Profile
