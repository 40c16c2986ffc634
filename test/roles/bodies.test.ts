/** test/contract/bodies.test.ts, asked of a gateway process: it answers the same as the single process. */
import { callGateway } from '../support/service.ts'

callGateway()
await import('../contract/bodies.test.ts')
