/** Reports read through a gateway process: the stream, its ranges and its refusals are those of the single process. */
import { callGateway } from '../support/service.ts'

callGateway()
await import('../contract/reports.test.ts')
