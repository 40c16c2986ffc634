/** The days of safeguarding, and one day in one currency. Every role of staff reads them. */
import { notFound, type PublicRoute } from '../../kernel/api/index.ts'
import { isFiat } from '../../kernel/index.ts'
import { isDay } from '../../reports/safeguarding/index.ts'
import { page } from '../kit/request.ts'
import { type DeskFrame, staffRoute } from './request.ts'
import { dayPage, daysPage } from './safeguarding-pages.ts'

const rowsShown = 60
/** Days before and after all records. */
const [firstDay, lastDay] = ['0001-01-01', '9999-12-31']

export function safeguardingRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { db, safeguarding } = frame
  return [
    staffRoute(frame, 'safeguarding', 'GET', '/safeguarding', async (request, { view }) => {
      const asked = new URLSearchParams(request.query).get('before') ?? ''
      const before = isDay(asked) ? asked : lastDay
      const rows = await safeguarding.list(db, { from: firstDay, before, rowsMax: rowsShown + 1 })
      // A page ends with a whole day: the next one begins before it.
      const cut = rows.length > rowsShown ? rows.at(-1)?.day : undefined
      const days = rows.filter(({ day }) => day !== cut).map(({ content }) => content)
      const last = days.at(-1)?.day
      const next = cut === undefined || last === undefined ? {} : { next: `safeguarding?before=${last}` }
      const first = before === lastDay ? {} : { first: 'safeguarding' }
      return page(request, 200, daysPage(view, { days, ...next, ...first }))
    }),
    staffRoute(frame, 'safeguarding', 'GET', '/safeguarding/{day}/{currency}', async (request, { view }) => {
      const { day = '', currency = '' } = request.params
      if (!isDay(day) || !isFiat(currency)) throw notFound('page')
      const versions = await safeguarding.versions(db, day, currency)
      const [last] = versions
      if (last === undefined) throw notFound('page')
      return page(request, 200, dayPage(view, { content: last.content, digest: last.digest, versions }))
    }),
  ]
}
