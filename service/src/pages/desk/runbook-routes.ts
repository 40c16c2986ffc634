/** The runbooks at the desk: what to do about a case, an alert or a payment that stands still. In English, as they are written. */
import { notFound, type PublicRoute } from '../../kernel/api/index.ts'
import { html } from '../html.ts'
import { page } from '../kit/request.ts'
import { shell } from '../kit/frame.ts'
import { type DeskFrame, staffRoute } from './request.ts'

export const runbookRoutes = (frame: DeskFrame): readonly PublicRoute[] =>
  ['', 'alerts/'].map((folder) =>
    staffRoute(frame, 'queue', 'GET', `/runbooks/${folder}{name}`, async (request, { view }) => {
      const found = await frame.runbooks.find(`${folder}${request.params['name'] ?? ''}`)
      if (found === undefined) throw notFound('page')
      const main = html`<article class="document" lang="en">${found.body}</article>`
      return page(request, 200, shell(view, { title: found.title, wide: true, main }))
    }),
  )
