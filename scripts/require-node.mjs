/**
 * Runs before each npm script. An older Node cannot read the sources and would print a trace. Plain JavaScript, because an
 * older Node runs this file.
 */
const requiredMajor = 26

const { node } = process.versions
if (Number(node.split('.')[0]) < requiredMajor) {
  console.error(
    `Node ${requiredMajor} or newer is required; this is Node ${node}. Run npm ci without --omit=optional, or install Node ${requiredMajor}.`,
  )
  process.exit(1)
}
