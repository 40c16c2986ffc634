/** test/contract/connections.test.ts, asked of a gateway process: it answers the same as the single process. */
import { callGateway } from '../support/service.ts'

callGateway()
await import('../contract/connections.test.ts')
