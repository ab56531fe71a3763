/** What V8's heap profiler takes and tells besides what the types of Node know. */
import 'node:inspector'

declare module 'node:inspector' {
  namespace HeapProfiler {
    interface StartSamplingParameterType {
      /** Samples of what was collected stay. */
      includeObjectsCollectedByMajorGC?: boolean
      includeObjectsCollectedByMinorGC?: boolean
    }
    interface SamplingHeapProfileNode {
      id: number
    }
    interface SamplingHeapProfile {
      samples: {
        /** Bytes that the sample stands for. */
        size: number
        nodeId: number
        /** Rises from sample to sample, from 1 on. */
        ordinal: number
      }[]
    }
  }
}
