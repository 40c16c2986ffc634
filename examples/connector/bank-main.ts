/** `node examples/connector/bank-main.ts [port]`: runs the example bank and prints its address. Ends with SIGTERM. */
import { startBank } from './bank.ts'

const [port = '0', ...more] = process.argv.slice(2)
if (!/^\d+$/.test(port) || more.length > 0) throw new Error('usage: node examples/connector/bank-main.ts [port]')
const bank = await startBank({}, Number(port))
process.stdout.write(`${bank.url}\n`)
process.once('SIGTERM', () => void bank.close())
