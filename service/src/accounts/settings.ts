/** Settings of imported IBAN pools. */
import { integer, refuseSetting, type Settings } from '../kernel/index.ts'
import { ibanCountries } from '../rails/index.ts'

export { defaultIssuers, isSandboxIssuer, type Issuer, findIssuersProblem, findIssuerOverlap } from './rules.ts'

const ibansMax = 1_000_000_000

function readCountries(value: string | undefined): readonly string[] {
  const countries = (value ?? '').split(',').flatMap((part) => (part.trim() === '' ? [] : [part.trim()]))
  const wrong = countries.find((country) => !ibanCountries.has(country))
  if (wrong !== undefined) refuseSetting('must be countries that have IBANs, separated by commas, such as DE,LT')
  if (new Set(countries).size < countries.length) refuseSetting('must name each country once')
  return countries
}

export const accountsSettings = {
  IBAN_POOLS: {
    default: 'none: all IBANs are made from the ranges of IBAN_ISSUERS',
    description:
      'Countries, separated by commas, whose IBANs are taken from pools that `operator ibans import` has filled. A range of IBAN_ISSUERS in the same country is then not used',
    read: readCountries,
  },
  IBAN_POOL_FREE_MIN: {
    default: '100',
    description: 'A pool with fewer free IBANs is low: the worker logs it, and an alert fires',
    read: integer(0, ibansMax, 100),
  },
  IBAN_POOL_DAYS_MIN: {
    default: '14',
    description: 'A pool that is empty in fewer days, by its use of the last 30 days, is low',
    read: integer(0, 3_650, 14),
  },
} as const satisfies Settings
