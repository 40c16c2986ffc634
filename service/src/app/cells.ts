/**
 * The settings of cells: several installations, each with its own database, behind a router. All cells have the same `IBAN_ISSUERS`, so that
 * each cell checks at its start that its account numbers do not overlap with those of another cell.
 */
import type { Cell } from '../edge/gateway/index.ts'
import { refuseSetting, type Settings } from '../kernel/index.ts'
import {
  accountsSettings,
  defaultIssuers,
  isSandboxIssuer,
  type Issuer,
  findIssuersProblem,
  findIssuerOverlap,
} from '../accounts/settings.ts'

export type { Issuer } from '../accounts/settings.ts'

type CellIssuer = Issuer & { readonly cell: string | undefined }

const cellName = /^[a-z0-9][a-z0-9-]{0,31}$/
const entryForm =
  /^(?<country>[A-Z]{2}):(?<bankCode>[A-Z0-9]+)(?:\/(?<bic>[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}(?:[A-Z0-9]{3})?))?(?::(?<first>\d{1,15})-(?<last>\d{1,15}))?(?:@(?<cell>[a-z0-9-]+))?$/

function readEntry(text: string): CellIssuer {
  const groups = entryForm.exec(text)?.groups
  if (groups === undefined)
    return refuseSetting(
      `must have entries such as DE:37040044, DE:37040044/COBADEFFXXX or DE:37040044:1-5000000@cell-1, separated by commas`,
    )
  const { country = '', bankCode = '', bic, first, last, cell } = groups
  const range = first === undefined ? {} : { first: Number(first), last: Number(last) }
  return { country, bankCode, ...(bic === undefined ? {} : { bic }), ...range, cell }
}

function readIssuers(value: string | undefined, mode: 'sandbox' | 'production'): readonly CellIssuer[] {
  const issuers: readonly CellIssuer[] =
    value === undefined
      ? mode === 'production'
        ? []
        : defaultIssuers.map((issuer) => ({ ...issuer, cell: undefined }))
      : value.split(',').map((entry) => readEntry(entry.trim()))
  const cells = new Set(issuers.map(({ cell }) => cell))
  if (cells.size > 1 && cells.has(undefined)) refuseSetting('must name a cell in every entry or in none')
  for (const cell of cells) {
    const problem = findIssuersProblem(issuers.filter((issuer) => issuer.cell === cell))
    if (problem !== undefined) refuseSetting(`is wrong: ${problem}`)
  }
  const overlap = findIssuerOverlap(issuers)
  if (overlap !== undefined) refuseSetting(`is wrong: ${overlap}`)
  const invented = issuers.find(isSandboxIssuer)
  if (mode === 'production' && invented)
    refuseSetting(`must not contain ${invented.country}:${invented.bankCode}: the sandbox invented this bank code`)
  return issuers
}

const cellForm = /^(?<name>[^=]+)=(?<url>http:\/\/[^|]+)\|(?<opsUrl>http:\/\/[^|]+)$/

function readCells(value: string | undefined): readonly Cell[] {
  const cells = (value?.split(',') ?? []).map((entry) => {
    const { name = '', url = '', opsUrl = '' } = cellForm.exec(entry.trim())?.groups ?? {}
    return cellName.test(name) && [url, opsUrl].every(isOrigin)
      ? { name, url, opsUrl }
      : refuseSetting('must have entries such as one=http://10.0.0.1:8080|http://10.0.0.1:8081, separated by commas')
  })
  if (new Set(cells.map(({ name }) => name)).size < cells.length) refuseSetting('must name each cell once')
  return cells
}

/** Reports whether a text is an origin without a path, because the router forwards request targets unchanged. */
const isOrigin = (text: string) => URL.canParse(text) && new URL(text).origin === text.replace(/\/$/, '')

export const cellSettings = {
  IBAN_ISSUERS: {
    default: 'invented bank codes; none in production',
    description:
      'Issuers of IBANs, separated by commas: `COUNTRY:BANKCODE`, then optionally `/BIC`, `:FIRST-LAST` (account numbers) and `@CELL`. Without one, `createCustomerAccount` is refused',
    read: readIssuers,
  },
  ...accountsSettings,
  CELL: {
    default: 'none',
    description: 'Name of this installation among several cells; selects its entries of IBAN_ISSUERS',
    read: (value: string | undefined) =>
      value === undefined || cellName.test(value)
        ? value
        : refuseSetting('must be 1 to 32 lower-case letters, digits and hyphens'),
  },
  CELL_URLS: {
    default: 'none',
    description:
      'Role `router`: the cells, separated by commas: `NAME=URL|OPERATIONS_URL`, the addresses of the API and of the operations port',
    read: readCells,
  },
} as const satisfies Settings

/** Selects the issuers of this cell. Returns a problem if the selection is invalid. */
export function selectIssuers(
  issuers: readonly CellIssuer[],
  cell: string | undefined,
): { readonly issuers: readonly Issuer[] } | { readonly problem: string } {
  const own = issuers.filter((issuer) => issuer.cell === undefined || issuer.cell === cell)
  const named = [...new Set(issuers.flatMap((issuer) => issuer.cell ?? []))]
  if (own.length > 0 || named.length === 0) return { issuers: own }
  const names = named.join(', ')
  return { problem: cell === undefined ? `CELL is required: one of ${names}` : `CELL must be one of ${names}` }
}
