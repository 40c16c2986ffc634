/** The form that multinational companies send to banks of several countries: Common Global Implementation (CGI-MP). */
import { epc09, epcRules, epcSources, transfer } from './epc.ts'
import type { Pain001Profile } from './profile.ts'

const from = 'CGI-MP'
export const cgi09 = {
  ...epc09,
  id: 'cgi-09',
  title: 'Common Global Implementation (CGI-MP), pain.001.001.09',
  initiatorIdScheme: 'CUST',
  sources: {
    ...epcSources,
    [from]: {
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
      source: from,
      place: 'BR-CGI-PMTMTD-01',
    },
    { within: 'PmtInf/PmtTpInf', element: 'SvcLvl', demand: { is: 'present' }, source: from, place: 'BR-CGI-PTI-01' },
    {
      within: 'GrpHdr/InitgPty/Id/OrgId/Othr',
      element: 'SchmeNm/Cd',
      demand: { is: 'present' },
      source: from,
      place: 'BR-CGI-ORG-01',
    },
    {
      within: 'GrpHdr',
      element: 'InitgPty/PstlAdr/AdrLine',
      demand: { is: 'absent' },
      source: from,
      place: 'BR-CGI-ADDR-02',
    },
    {
      within: `${transfer}/RmtInf`,
      element: '*',
      demand: { is: 'count', max: 1 },
      source: from,
      place: 'BR-CGI-RMT-01',
    },
  ],
} as const satisfies Pain001Profile
