/** test/contract/chosen-hosts.test.ts, asked of a gateway process: neither it nor the api process behind it gives a shared place to such a call. */
import { callGateway } from '../support/service.ts'

callGateway()
await import('../contract/chosen-hosts.test.ts')
