# Three clocks on whatever client agents there are.
job "hello" {
  datacenters = ["dc1"]

  group "clock" {
    count = 3

    migrate {
      max_parallel     = 3
      min_healthy_time = "1s"
      healthy_deadline = "1m"
    }

    ephemeral_disk {
      size = 20
    }

    task "clock" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "while true; do date; sleep 5; done"]
      }

      resources {
        cpu    = 20
        memory = 16
      }

      logs {
        max_files     = 2
        max_file_size = 5
      }
    }
  }
}
