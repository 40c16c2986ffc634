/** The form of the German banks: Anlage 3 of the DFÜ-Abkommen, chapter 2. It carries payments of SEPA only. */
import { epc09, epcRules, epcSources, transfer } from './epc.ts'
import type { Pain001Profile } from './profile.ts'
import type { Rule } from './rule.ts'

const from = 'GBIC-5'
const at = (within: string, element: string, demand: Rule['demand'], place: string): Rule => ({
  within,
  element,
  demand,
  source: from,
  place,
})

export const dk09 = {
  ...epc09,
  id: 'dk-09',
  title: 'Germany (Die Deutsche Kreditwirtschaft), pain.001.001.09',
  kinds: { Sepa: epc09.kinds.Sepa, Instant: epc09.kinds.Instant },
  schemas: [{ name: 'pain.001.001.09' }, { name: 'pain.001.001.09_GBIC_5' }],
  sources: {
    ...epcSources,
    [from]: {
      title: 'pain.001.001.09_GBIC_5.xsd, Technical Validation Subset',
      edition: '1 April 2025, for version 3.9 of the DFÜ-Abkommen, Anlage 3',
      publisher: 'Die Deutsche Kreditwirtschaft',
      found: 'AdVitam/sepa_rator at 22573a32, lib/schema/dk',
      read: 'whole',
    },
  },
  rules: [
    ...epcRules,
    at('GrpHdr', 'CtrlSum', { is: 'present' }, 'GroupHeader85_SCT_SCTinst'),
    at('PmtInf', 'NbOfTxs', { is: 'present' }, 'PaymentInstruction30_SCT_SCTinst'),
    at('PmtInf', 'CtrlSum', { is: 'present' }, 'PaymentInstruction30_SCT_SCTinst'),
    at('PmtInf', 'PmtTpInf/SvcLvl', { is: 'count', max: 1 }, 'PaymentTypeInformation26_SCT_SCTinst'),
    at('PmtInf', 'InstrForDbtrAgt', { is: 'absent' }, 'PaymentInstruction30_SCT_SCTinst'),
    at(transfer, 'PmtId/UETR', { is: 'absent' }, 'PaymentIdentification6_SCT_SCTinst'),
    at(
      transfer,
      'Amt/InstdAmt/@Ccy',
      { is: 'oneOf', values: ['EUR'] },
      'ActiveOrHistoricCurrencyAndAmount_SCT_SCTinst',
    ),
    at(transfer, 'Cdtr/Nm', { is: 'present' }, 'PartyIdentification135_SCT_SCTinst_5'),
  ],
} as const satisfies Pain001Profile
