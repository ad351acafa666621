/** Microseconds of processor time of this thread; of the whole process where Node cannot tell (before 23.9). */
export const threadCpuMicros = (): number => {
  const { user, system } = (process.threadCpuUsage ?? process.cpuUsage)()
  return user + system
}
