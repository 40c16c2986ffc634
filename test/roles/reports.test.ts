/** Every refusal of the contract, asked of a gateway process: it answers the same as the single process. */
import { callGateway } from '../support/service.ts'

callGateway()
for (const file of ['reports', 'bodies', 'queries', 'connections']) await import(`../contract/${file}.test.ts`)
