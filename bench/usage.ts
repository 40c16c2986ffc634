/** Loaded into every measured process with `--import`: reports the resource usage on request. */
export type Usage = { readonly cpuSeconds: number; readonly rssBytes: number; readonly heapBytes: number }

export function usageNow(): Usage {
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed } = process.memoryUsage()
  return { cpuSeconds: (user + system) / 1e6, rssBytes: rss, heapBytes: heapUsed }
}

process.on('message', (message) => {
  if (message === 'usage') process.send?.({ usage: usageNow() })
})
process.on('disconnect', () => process.exit(0))
