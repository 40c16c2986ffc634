/**
 * The export of everything that is held about a customer, as one JSON object on each line (docs/guides/customers.md). It is read in
 * pages of short statements: a customer may have millions of payments, and a reader that pauses holds one page and no transaction.
 */
import type { Clock } from '../../kernel/index.ts'
import { createReaders, type Page } from '../../kernel/api/index.ts'
import type { Customer } from './customer.ts'
import type { Customers } from './service.ts'

/** A line of an export: the type of `data`, and its fields. Amounts are exact JSON numbers. */
export type ExportLine = { readonly type: string; readonly data: object }
/** Section of an export: the data that one part of the service holds about a customer, in pages. */
export type ExportSection = (partnerId: string, customer: Customer) => AsyncIterable<readonly ExportLine[]>

export type CustomerExport = {
  readonly customer: Customer
  readonly pages: () => AsyncGenerator<readonly ExportLine[]>
  /** Called once, when the reader has everything or has disconnected. */
  readonly closed: () => void
}
export type CustomerExports = {
  /** Refuses: not_found, rate_limited (too many streams at once). */
  readonly open: (partnerId: string, ref: string) => Promise<CustomerExport>
}

const identificationNumber = {
  what: 'kyc.personalIdentificationNumber',
  why: 'No response contains it. It is stored as you gave it.',
}
/** Stated for every customer: it must not depend on whether there is a hit. */
const leftOut = [
  {
    what: 'hits of screening, and decisions about them',
    why: 'The law forbids disclosing whether a name was found on a list, and whether a report was made.',
  },
  {
    what: 'events, reports, answers that are kept for repeated requests, and messages to banks',
    why: 'They repeat the fields of other lines.',
  },
  {
    what: 'the class of risk, and reviews',
    why: 'They are the assessments that the law on money laundering demands, and not data that you gave.',
  },
  { what: 'verification of payees', why: 'The answers are about the payees.' },
] as const

export function createCustomerExports(deps: {
  readonly clock: Clock
  readonly customers: Pick<Customers, 'get'>
  readonly sections: readonly ExportSection[]
}): CustomerExports {
  const { clock, customers, sections } = deps
  const enter = createReaders()
  return {
    open: async (partnerId, ref) => {
      const customer = await customers.get(partnerId, ref)
      const head: ExportLine = {
        type: 'export',
        data: {
          guid: customer.id,
          serviceId: customer.serviceId,
          exportedAt: clock.now().toISOString(),
          leftOut:
            customer.kyc.personalIdentificationNumber === undefined ? leftOut : [identificationNumber, ...leftOut],
        },
      }
      return {
        customer,
        closed: enter(partnerId),
        pages: async function* () {
          yield [head]
          // Counts the first line and the last one.
          let lines = 2
          for (const section of sections)
            for await (const page of section(partnerId, customer)) {
              lines += page.length
              if (page.length > 0) yield page
            }
          // A reader that receives this line has all of them.
          yield [{ type: 'end', data: { lines } }]
        },
      }
    },
  }
}

const rowsPerPageMax = 100

/** Every page of a list, by its own cursors. */
export async function* pagesOfList<T>(
  read: (query: { readonly limit: string; readonly cursor?: string }) => Promise<Page<T>>,
): AsyncGenerator<readonly T[]> {
  for (let cursor: string | undefined; ;) {
    const limit = String(rowsPerPageMax)
    const page = await read(cursor === undefined ? { limit } : { limit, cursor })
    yield page.data
    if (page.nextCursor === null) return
    cursor = page.nextCursor
  }
}

/** Every page of rows, each read after the id of the last row before it. */
export async function* pagesBehind<T extends { readonly id: string }>(
  firstId: string,
  read: (afterId: string, rowsMax: number) => Promise<readonly T[]>,
): AsyncGenerator<readonly T[]> {
  for (let afterId = firstId; ;) {
    const rows = await read(afterId, rowsPerPageMax)
    yield rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < rowsPerPageMax) return
    afterId = last.id
  }
}
