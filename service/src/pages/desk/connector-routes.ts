/** The page of connectors at the desk. */
import { operatorPartnerId } from '../../cases/index.ts'
import type { PublicRoute } from '../../kernel/api/index.ts'
import { page } from '../kit/request.ts'
import { connectorsPage } from './connector-pages.ts'
import { type DeskFrame, staffRoute } from './request.ts'
import { thingHref } from './things.ts'

export const connectorRoutes = (frame: DeskFrame): readonly PublicRoute[] => [
  staffRoute(frame, 'connectors', 'GET', '/connectors', async (request, { view }) => {
    const connectors = await frame.waiting.connectors()
    const hrefOf = (subject: string) => thingHref({ partnerId: operatorPartnerId, kind: 'connector', subject })
    return page(request, 200, connectorsPage(view, { connectors, hrefOf }))
  }),
]
