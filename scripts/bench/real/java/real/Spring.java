package real;

import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** Spring Boot: starts a web application on a free port, and stops it. */
@SpringBootApplication
@RestController
public class Spring implements Main.Work {
    @GetMapping("/orders")
    public Map<String, Integer> orders() {
        return Map.of("count", 5);
    }

    @Override
    public long run(int round) {
        SpringApplication application = new SpringApplication(Spring.class);
        application.setDefaultProperties(
                Map.of("server.port", "0", "spring.main.banner-mode", "off", "logging.level.root", "warn"));
        try (ConfigurableApplicationContext context = application.run()) {
            return context.getBeanDefinitionCount();
        }
    }
}
