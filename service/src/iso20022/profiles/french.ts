/**
 * The form of the French banks. The guide of CFONB could not be read: it is the guideline of the European Payments Council with
 * a structured address, which another project states as a rule of version 2.6 of the guide.
 */
import { epc09, epcRules, epcSources } from './epc.ts'
import type { Pain001Profile } from './profile.ts'

const from = 'CFONB'
export const cfonb09 = {
  ...epc09,
  id: 'cfonb-09',
  title: 'France (CFONB), pain.001.001.09',
  kinds: { Sepa: epc09.kinds.Sepa, Instant: epc09.kinds.Instant },
  debtorAddress: 'structured',
  sources: {
    ...epcSources,
    [from]: {
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
      source: from,
      place: 'postal addresses are structured',
    },
  ],
} as const satisfies Pain001Profile
