/** Reconciliation as `operator reconcile` prints it. Every role of staff reads it. */
import { notFound, type PublicRequest, type PublicRoute } from '../../kernel/api/index.ts'
import { dayMs } from '../../kernel/index.ts'
import { readAtOneMoment, type Tx } from '../../postgres/index.ts'
import type { Line } from '../../cases/reconciliation/index.ts'
import { page } from '../kit/request.ts'
import { accountPage, accountsPage } from './reconciliation-pages.ts'
import { type DeskFrame, withStaff } from './request.ts'

const daysShown = 31
/** Statements, and single entries, payments and cases of each kind. */
const rowsMax = 50

type Wanted = Parameters<DeskFrame['reconciliation']['report']>[1]

export function reconciliationRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { db, clock, reconciliation } = frame
  const linesOf = async (tx: Tx, wanted: Wanted): Promise<readonly Line[]> => {
    const lines: Line[] = []
    for await (const some of reconciliation.report(tx, wanted)) lines.push(...some)
    return lines
  }
  return [
    {
      method: 'GET',
      path: '/desk/reconciliation',
      handle: (request) =>
        withStaff(frame, request, 'reconciliation', async ({ view }) => {
          // The stored result of the last look at each account, which costs no look. The process that looked may have a clock that is ahead.
          const stored = await linesOf(db, { at: new Date(clock.now().getTime() + dayMs) })
          const accounts = (await reconciliation.accounts(db)).map((name) => ({
            name,
            line: stored.find(
              (line) =>
                line['record'] === 'account' &&
                line['connector'] === name.connector &&
                line['account'] === name.account &&
                line['currency'] === name.currency,
            ),
          }))
          return page(request, 200, accountsPage(view, { accounts }))
        }),
    },
    {
      method: 'GET',
      path: '/desk/reconciliation/account',
      handle: (request) =>
        withStaff(frame, request, 'reconciliation', async ({ view }) => {
          const { connector, account, currency, at, before } = wantedOf(request)
          const shown = await db.transaction(async (tx) => {
            await readAtOneMoment(tx)
            const known = await reconciliation.accounts(tx)
            const name = known.find(
              (one) => one.connector === connector && one.account === account && one.currency === currency,
            )
            if (name === undefined) throw notFound('page')
            const lines = await linesOf(tx, { connector, account, currency, at, rowsMax })
            return { name, lines, days: await reconciliation.days(tx, name, before, daysShown + 1) }
          })
          const days = shown.days.slice(0, daysShown)
          const last = shown.days.length > daysShown ? days.at(-1) : undefined
          const query = (more: Readonly<Record<string, string>>) =>
            `account?${new URLSearchParams({ connector, account, currency, ...more }).toString()}`
          return page(
            request,
            200,
            accountPage(view, {
              ...{ ...shown, days, at, rowsMax },
              next: last && query({ before: last['at'] ?? '' }),
              first: before && query({}),
            }),
          )
        }),
    },
  ]
}

function wantedOf({ query }: PublicRequest) {
  const fields = new URLSearchParams(query)
  const text = (name: string) => fields.get(name) ?? ''
  const moment = (name: string) => {
    const date = new Date(text(name))
    return Number.isNaN(date.getTime()) ? undefined : date
  }
  const [connector, account, currency] = [text('connector'), text('account'), text('currency')]
  return { connector, account, currency, at: moment('at'), before: moment('before') }
}
